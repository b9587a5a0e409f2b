#include <stdio.h>
#include <stdlib.h>
#include <string.h>
volatile double sink;
__attribute__((noinline)) void spin(long n){ double x=1; for(long i=0;i<n;i++){ x=x*1.0000001+0.5; } sink=x; }
__attribute__((noinline)) void b(int k){ spin(20000000L*k); }
__attribute__((noinline)) void a(void){ b(2); spin(10000000L); }
void* keep[3000];
__attribute__((noinline)) void* mk(int n){ void*p=malloc(n); memset(p,1,n); return p; }
__attribute__((noinline)) void fill(void){ for(int i=0;i<3000;i++) keep[i]=mk(100+i*7%5000); for(int i=0;i<1500;i++) { free(keep[i]); keep[i]=0;} }
int main(){ fill(); for(int i=0;i<6;i++){a();b(1);} for(int i=0;i<20;i++) mk(300000); return 0; }
