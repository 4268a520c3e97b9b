
// Constructors of arguments. They are inline, and no part of the library.

// A tensor.
static inline bt_arg bt_t(const char *name, bt_handle t) {
  const bt_arg a = {name, BT_ARG_TENSOR, (int64_t)t, 0.0, NULL, NULL, NULL, 0};
  return a;
}

// A list of tensors, which must live until the call.
static inline bt_arg bt_ts(const char *name, const bt_handle *tensors, size_t count) {
  const bt_arg a = {name, BT_ARG_TENSORS, 0, 0.0, NULL, NULL, tensors, count};
  return a;
}

// An integer.
static inline bt_arg bt_i(const char *name, int64_t value) {
  const bt_arg a = {name, BT_ARG_INT, value, 0.0, NULL, NULL, NULL, 0};
  return a;
}

// A list of integers, which must live until the call.
static inline bt_arg bt_is(const char *name, const int64_t *values, size_t count) {
  const bt_arg a = {name, BT_ARG_INTS, 0, 0.0, NULL, values, NULL, count};
  return a;
}

// A floating-point number.
static inline bt_arg bt_f(const char *name, double value) {
  const bt_arg a = {name, BT_ARG_FLOAT, 0, value, NULL, NULL, NULL, 0};
  return a;
}

// A Boolean.
static inline bt_arg bt_b(const char *name, bool value) {
  const bt_arg a = {name, BT_ARG_BOOL, value, 0.0, NULL, NULL, NULL, 0};
  return a;
}

// A string, which must live until the call.
static inline bt_arg bt_s(const char *name, const char *text) {
  const bt_arg a = {name, BT_ARG_STRING, 0, 0.0, text, NULL, NULL, 0};
  return a;
}

#ifndef __cplusplus
// A list of integers as they are written: BT_INTS("stride", 2, 2). The list lives until the end of the block around it.
#define BT_INTS(name, ...) \
  bt_is(name, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

// Two arguments of a function, a list of bt_arg and its length: bt_call("relu", BT_ARGS(bt_t("x", x)), &y, 1, NULL).
#define BT_ARGS(...) (const bt_arg[]){__VA_ARGS__}, sizeof((const bt_arg[]){__VA_ARGS__}) / sizeof(bt_arg)
#endif

#endif  /* BLOCKTENSOR_H */
