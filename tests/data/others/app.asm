	.text
	.globl main
main:
	add $1, %eax ; 12
	dec %ecx
	ret
