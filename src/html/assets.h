/* The files of assets/, as texts. */
#ifndef TW_ASSETS_H
#define TW_ASSETS_H

extern const char tw_asset_page[];   /* page.html: with marks where style, data and script go */
extern const char tw_asset_style[];  /* page.css */
extern const char tw_asset_script[]; /* all *.js, one after another */

#endif
