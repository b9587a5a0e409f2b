#!/bin/bash
# builds ../bin/weird : every function has a symbol name that is hostile to line-oriented formats
cd "$(dirname "$0")" || exit 1
dir="dir with space"; mkdir -p "$dir" ../bin && cp weird.c "$dir/wéird näme.c"
gcc -g -O0 -w -c -o ../bin/weird.o "$dir/wéird näme.c" || exit 1
T=$'\t'
names=("name with  two spaces" "(7)" "(1) fake compressed" "calls=3 0x10" "a:b:c" "x=y;z" "tab${T}there" "quote\"s & <lt> 'ap'" "naïve_ünïcode_関数" "fn=(2)" "[brackets]" "{braces} 12 34" "file.c:func'2" 'back\slash\n' "trailing space " " leading" "+5" "-3 *" 'dollar$at@ver@@GLIBC_2.2.5' "jump=1/2 +3" "#comment" "summary: 1" "events: Ir" "a'b'c'2'3")
args=(); i=1; for n in "${names[@]}"; do args+=(--redefine-sym "f$i=$n"); i=$((i+1)); done
# a Latin-1 byte that is not valid UTF-8, in place of f9's second copy is added to the global v
args+=(--redefine-sym $'v=v_\xe9_latin1')
objcopy "${args[@]}" ../bin/weird.o ../bin/weird2.o && gcc -o ../bin/weird ../bin/weird2.o
