/* Functions of libm: SQL has them (later.h). */
#include "cli/wrapped/later.h"

#include <gnu/lib-names.h>
#include <math.h>

#define OF_ONE(function)                                                                                                                   \
	double(function)(double x)                                                                                                         \
	{                                                                                                                                  \
		TW_LATER(LIBM_SO, function, x);                                                                                            \
	}
#define OF_TWO(function)                                                                                                                   \
	double(function)(double x, double y)                                                                                               \
	{                                                                                                                                  \
		TW_LATER(LIBM_SO, function, x, y);                                                                                         \
	}

OF_ONE(acos)
OF_ONE(acosh)
OF_ONE(asin)
OF_ONE(asinh)
OF_ONE(atan)
OF_ONE(atanh)
OF_ONE(cos)
OF_ONE(cosh)
OF_ONE(exp)
OF_ONE(log)
OF_ONE(sin)
OF_ONE(sinh)
OF_ONE(sqrt)
OF_ONE(tan)
OF_ONE(tanh)
OF_ONE(trunc)
OF_TWO(atan2)
OF_TWO(fmod)
OF_TWO(hypot)
OF_TWO(pow)
