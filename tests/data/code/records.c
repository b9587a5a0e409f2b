/* Two versions of a program, for cg-diff --code: gcc -O2 -g [-DNEW] records.c -o records
   valgrind --tool=callgrind --dump-instr=yes --toggle-collect=main ./records
   cg-parse --code --calls callgrind.out.PID */
#define APART __attribute__((noipa))
typedef unsigned long u64;

#ifdef NEW
#define HASHES 3
#define ROUNDS 45
#define TRIM trim_record
#else
#define HASHES 1
#define ROUNDS 30
#define TRIM trim
#endif

APART u64 hash(u64 x) {
    for (int i = 0; i < 8; i++)
        x = (x ^ x >> 7) * 40503;
    return x;
}

APART u64 scan(u64 x) {
    for (u64 i = 0; i < ROUNDS; i++) {
        x = x * 31 + i;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

APART u64 check(u64 x) {
    u64 sum = 0;
    for (u64 i = 0; i < 20; i++) {
#ifdef NEW
        if (x >> i & 1)
            sum += i * i;
#endif
        sum += x >> i;
        __asm__ volatile("" : "+r"(sum));
    }
    return sum;
}

APART u64 TRIM(u64 x) {
    while (x % 10 == 0 && x != 0)
        x /= 10;
    return x;
}

APART u64 parse(u64 record) {
    u64 sum = scan(record) + check(record) + TRIM(record * 1000);
    for (int i = 0; i < HASHES; i++)
        sum ^= hash(sum + i);
    return sum;
}

int main(void) {
    u64 sum = 0;
    for (u64 record = 1; record <= 500; record++)
        sum += parse(record);
    return sum == 1;
}
