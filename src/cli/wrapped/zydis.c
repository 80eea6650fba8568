/* What the tool calls of Zydis, the decoder (later.h). */
#include "cli/wrapped/later.h"

#include <Zydis/Zydis.h>

#define ZYDIS(function, ...) TW_LATER(TW_ZYDIS, function, __VA_ARGS__)

ZyanStatus ZydisDecoderInit(ZydisDecoder *decoder, ZydisMachineMode mode, ZydisStackWidth width)
{
	ZYDIS(ZydisDecoderInit, decoder, mode, width);
}

ZyanStatus ZydisDecoderDecodeFull(const ZydisDecoder *decoder, const void *code, ZyanUSize length, ZydisDecodedInstruction *instruction,
                                  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT])
{
	ZYDIS(ZydisDecoderDecodeFull, decoder, code, length, instruction, operands);
}

ZyanStatus ZydisDecoderDecodeInstruction(const ZydisDecoder *decoder, ZydisDecoderContext *context, const void *code, ZyanUSize length,
                                         ZydisDecodedInstruction *instruction)
{
	ZYDIS(ZydisDecoderDecodeInstruction, decoder, context, code, length, instruction);
}

ZyanStatus ZydisDisassembleIntel(ZydisMachineMode mode, ZyanU64 pc, const void *code, ZyanUSize length,
                                 ZydisDisassembledInstruction *instruction)
{
	ZYDIS(ZydisDisassembleIntel, mode, pc, code, length, instruction);
}

const char *ZydisCategoryGetString(ZydisInstructionCategory category)
{
	ZYDIS(ZydisCategoryGetString, category);
}

const char *ZydisMnemonicGetString(ZydisMnemonic mnemonic)
{
	ZYDIS(ZydisMnemonicGetString, mnemonic);
}

ZydisRegisterClass ZydisRegisterGetClass(ZydisRegister r)
{
	ZYDIS(ZydisRegisterGetClass, r);
}

ZyanI8 ZydisRegisterGetId(ZydisRegister r)
{
	ZYDIS(ZydisRegisterGetId, r);
}

ZydisRegister ZydisRegisterGetLargestEnclosing(ZydisMachineMode mode, ZydisRegister r)
{
	ZYDIS(ZydisRegisterGetLargestEnclosing, mode, r);
}
