/* The files of assets/, as texts: assets.h. */
	.section .rodata
	.globl tw_asset_page, tw_asset_style, tw_asset_script
tw_asset_page:
	.incbin "src/html/assets/page.html"
	.byte 0
tw_asset_style:
	.incbin "src/html/assets/page.css"
	.byte 0
tw_asset_script:
	.incbin "src/html/assets/data.js"
	.incbin "src/html/assets/parts.js"
	.incbin "src/html/assets/layers.js"
	.incbin "src/html/assets/summary.js"
	.incbin "src/html/assets/timeline.js"
	.incbin "src/html/assets/flame.js"
	.incbin "src/html/assets/functions.js"
	.incbin "src/html/assets/memory.js"
	.incbin "src/html/assets/calls.js"
	.incbin "src/html/assets/main.js"
	.byte 0
	.section .note.GNU-stack, "", @progbits
