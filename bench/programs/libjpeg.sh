# libjpeg-turbo: its tests.
. "$(dirname "$0")/lib.sh"
need cmake
PACKAGE=libjpeg-turbo
build() { cmake -S . -B b -DWITH_SIMD=0 -DCMAKE_C_COMPILER=gcc "${LAUNCHERS[@]}" && make -C b -j2; }
own_tests() { (cd b && ctest -j1 2>&1) | grep -aE '^ *[0-9]+/[0-9]+|tests passed' | sed 's/  *[0-9.]* sec.*//'; }
WORK=(b/tjbench testimages/testorig.ppm 95)
compare "$@"
