// SPDX-License-Identifier: BSD-3-Clause
// Reports in C, written from doc/report_format.rst alone; prints what a file of vectors holds:
//   report MECHANISM N_CELLS N_LABELS THRESHOLD EXTRA SEED N [SIGNED or N_COLUMNS]
// EXTRA is n_blocks or subset_size. For people, word() must return words of getrandom().
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef uint64_t u64;
static u64 seed, number, step, word_k, rest; static int left;
static u64 word(void) {
  u64 z = seed + ((number << 20) + (step << 18) + word_k++ + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull; z = (z ^ z >> 27) * 0x94D049BB133111EBull; return z ^ z >> 31; }
static void begin(u64 s) { step = s; word_k = 0; rest = 0; left = 0; }
static u64 low(u64 x, int k) { return k == 64 ? x : x & (((u64)1 << k) - 1); }
static u64 bits(int k) {
  if (k == 64) return word();
  u64 v = rest;
  if (left >= k) { rest >>= k; left -= k; return low(v, k); }
  u64 w = word(); int need = k - left;
  v |= w << left; rest = w >> need; left = 64 - need; return low(v, k); }
static int len(u64 n) { int k = 0; while (n) { n >>= 1; k++; } return k; }
static u64 below(u64 n) { u64 v; do v = bits(len(n - 1)); while (v >= n); return v; }
static int is_below(u64 T) { u64 v = bits(16); return v != T >> 48 ? v < T >> 48 : bits(48) < low(T, 48); }
static int put(unsigned char *out, u64 v, int n) { for (int i = 0; i < n; i++) out[i] = v >> 8 * i; return n; }
static int get(unsigned char *s, u64 k) { return s[k >> 3] >> (k & 7) & 1; }
static void set(unsigned char *s, u64 k) { s[k >> 3] |= 1 << (k & 7); }
static int subset(unsigned char *out, u64 K, u64 d, u64 T, u64 c) {
  int n = (K + 7) / 8, k = len(K - 1), w = k + 6 < 64 - k ? k + 6 : 64 - k; u64 size = (u64)1 << w, m = d;
  memset(out, 0, n);
  if (is_below(T)) { set(out, c); m--; }
  for (u64 j = K - m; j < K; j++) {
    u64 p; do p = j * bits(w); while (p % size < size % j);
    u64 pick = (c + 1 + (p >> w)) % K; set(out, get(out, pick) ? (c + j) % K : pick); }
  return n; }
static int unary(unsigned char *out, u64 K, u64 T, u64 c) {
  int n = (K + 7) / 8; memset(out, 0, n);
  for (u64 start = 0; start < K; start += 64) {
    u64 ones = 0, open = ~(u64)0, w; int digit;
    for (digit = 63; digit > 59; digit--) { w = word(); if (T >> digit & 1) open &= w; else { ones |= open & w; open &= ~w; } }
    for (int lane = 0; lane < 64; lane++) if (open >> lane & 1) {
      u64 b = 1; for (digit = 59; digit >= 0; digit--) if ((b = bits(1)) != (T >> digit & 1)) break;
      if (digit < 0 || b) ones |= (u64)1 << lane; }
    for (int i = 0; i < 64 && start + i < K; i++) if (ones >> i & 1) set(out, start + i); }
  out[c >> 3] &= ~(1 << (c & 7)); if (bits(1)) set(out, c); return n; }
static int krr(unsigned char *out, u64 K, u64 n, u64 T, u64 c) {
  u64 b = c - c % n; if (!is_below(T)) c = b + (c % n + 1 + below(n - 1)) % n; return put(out, c, K <= 65536 ? 2 : 4); }
static int hadamard(unsigned char *out, u64 codes, int is_signed, u64 B, u64 T, u64 c) {
  u64 L = (u64)1 << len(codes - 1), code = is_signed ? c >> 1 : c, label = is_signed ? c & 1 : 1; int h = len(L / B) - 1;
  u64 r = bits(h), a = 2 * (code >> h) + (label ^ __builtin_parityll(r & code));
  if (!is_below(T)) a = (a + 1 + below(2 * B - 1)) % (2 * B);
  return put(out, ((a >> 1) << h | r) << 1 | (a & 1), L <= 32768 ? 2 : 4); }
int main(int argc, char **argv) {
  const char *name = argv[1]; u64 v[16]; for (int i = 2; i < argc; i++) v[i] = strtoull(argv[i], 0, 10);
  u64 cells = v[2], labels = v[3], T = v[4], extra = v[5], K = cells * labels, n = v[7], columns = 1; seed = v[6];
  int is_signed = argc > 8 && argv[8][0] == '1'; if (!strcmp(name, "column")) columns = strtoull(argv[8], 0, 10);
  static unsigned char out[1 << 16]; static u64 c[1 << 16]; uint32_t sum = 0;
  if (!columns || columns > 1 << 16 || !K || K > 8 * (sizeof out - 9)) return 2;
  for (number = 0; number < n; number++) {
    begin(0); for (u64 j = 0; j < columns; j++) c[j] = word() % K;
    int size = 0;
    if (!strcmp(name, "column")) { begin(2); u64 j = below(columns); size = put(out, j, 2); c[0] = c[j]; }
    begin(3);
    if (!strcmp(name, "krr")) size = krr(out, K, K, T, *c);
    else if (!strcmp(name, "label-rr")) size = krr(out, K, labels, T, *c);
    else if (!strcmp(name, "hadamard")) size = hadamard(out, is_signed ? cells : K, is_signed, extra, T, *c);
    else if (!strcmp(name, "unary")) size = unary(out, K, T, *c);
    else size += subset(out + size, K, extra, T, *c);
    if (number < 100) { for (int i = 0; i < size; i++) printf("%02x", out[i]); puts(""); }
    if (number % 100 == 0) sum = 2166136261u;
    for (int i = 0; i < size; i++) sum = (sum ^ out[i]) * 16777619u;
    if (number % 100 == 99) printf("%08x\n", sum); }
  return 0; }
