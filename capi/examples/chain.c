/* A chain of convolutions through the C interface: weights from a safetensors file are packed once and run blocked. Then five errors.
 *
 *   cc chain.c -I../include -L$LIBRARY -lblocktensor_c -o chain && ./chain weights.safetensors
 */
#include <stdio.h>
#include <string.h>

#include "blocktensor.h"

static int failed(const char *what, bt_status status) {
    if (status != 0) printf("%s: %s\n", what, bt_last_error_message());
    return status != 0;
}

#define TRY(call) do { if (failed(#call, (call))) return 1; } while (0)

static bt_arg integers(const char *name, const int64_t *values, size_t count) {
    bt_arg a = {0};
    a.name = name; a.kind = BT_ARG_INTS; a.integers = values; a.count = count;
    return a;
}

static bt_arg word(const char *name, const char *text) {
    bt_arg a = {0};
    a.name = name; a.kind = BT_ARG_STRING; a.text = text;
    return a;
}

static bt_arg one(const char *name, const bt_handle *t) {
    bt_arg a = {0};
    a.name = name; a.kind = BT_ARG_TENSOR; a.tensors = t; a.count = 1;
    return a;
}

struct chain { bt_handle x, first, second, y; };

/* Two packed convolutions and a pooling; nothing is reordered. */
static bt_status run_chain(void *context) {
    struct chain *c = context;
    bt_handle a, b;
    bt_status status = bt_packed_run(c->first, c->x, 0, &a);
    if (status) return status;
    status = bt_packed_run(c->second, a, 0, &b);
    bt_free(a);
    if (status) return status;
    bt_arg x = one("x", &b);
    status = bt_call("global_avg_pool", &x, 1, &c->y, 1, NULL);
    bt_free(b);
    return status;
}

static bt_status run_as_team(void *context) { return bt_run(run_chain, context); }
static bt_status run_denied(void *context) { return bt_deny_reorders(run_as_team, context); }

/* Five calls that must fail. */
static int errors(bt_handle blocked, bt_handle dict) {
    bt_handle none = 0, out = 0;
    bt_arg axis = {0}, x = one("x", &blocked), args[2];
    axis.name = "axis"; axis.kind = BT_ARG_INT; axis.number = 1;
    args[0] = x; args[1] = axis;
    struct { const char *what; bt_status status; } list[5];
    list[0].what = "an op without a blocked kernel"; list[0].status = bt_call("cumsum", args, 2, &out, 1, NULL);
    printf("1. %s\n", bt_last_error_message());
    float number;
    list[1].what = "numbers of a blocked tensor"; list[1].status = bt_tensor_read(blocked, &number, sizeof number);
    printf("2. %s\n", bt_last_error_message());
    x = one("x", &none);
    list[2].what = "a null handle"; list[2].status = bt_call("relu", &x, 1, &out, 1, NULL);
    printf("3. %s\n", bt_last_error_message());
    bt_handle freed = 0;
    if (bt_to_strided(blocked, NULL, &freed) || bt_free(freed)) return 1;
    list[3].what = "a handle freed twice"; list[3].status = bt_free(freed);
    /* The text has the handle's number, which differs from run to run. */
    printf("4. %s\n", strstr(bt_last_error_message(), "was freed") ? "a handle freed twice: was freed" : "?");
    list[4].what = "a tensor that is not in the file"; list[4].status = bt_dict_take(dict, "no.such.tensor", &out);
    printf("5. %s\n", bt_last_error_message());
    for (int i = 0; i < 5; i++) {
        if (list[i].status == 0) { printf("%s did not fail\n", list[i].what); return 1; }
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 2) { printf("usage: chain weights.safetensors\n"); return 2; }
    if (bt_abi_version() != BT_ABI_VERSION) { printf("the library is of another version\n"); return 1; }
    /* A program that loads the library with dlopen uses this table. */
    const bt_api *api = bt_get_api(BT_ABI_VERSION, sizeof(bt_api));
    if (!api || api->abi_version() != BT_ABI_VERSION) { printf("no table\n"); return 1; }

    bt_handle dict, w1, b1, w2;
    TRY(bt_dict_load(argv[1], &dict));
    TRY(bt_dict_take(dict, "conv1.weight", &w1));
    TRY(bt_dict_take(dict, "conv1.bias", &b1));
    TRY(bt_dict_take(dict, "conv2.weight", &w2));

    static float numbers[16 * 12 * 12];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) numbers[i] = (float)(i % 7) - 3;
    const int64_t dims[4] = {1, 16, 12, 12}, one_each[2] = {1, 1};
    bt_handle plain, x;
    TRY(bt_tensor_from_data(BT_F32, 4, dims, NULL, numbers, sizeof numbers, &plain));
    TRY(bt_to_blocked(plain, NULL, &x));
    TRY(bt_free(plain));

    struct chain c = {x, 0, 0, 0};
    bt_arg params[2] = {integers("padding", one_each, 2), word("post_ops", "relu")};
    TRY(bt_pack_conv(w1, b1, params, 2, x, &c.first));
    bt_handle middle;
    TRY(bt_packed_run(c.first, x, 0, &middle));
    TRY(bt_pack_conv(w2, 0, params, 1, middle, &c.second));
    TRY(bt_free(middle));
    TRY(bt_free(w1)); TRY(bt_free(b1)); TRY(bt_free(w2));

    bt_handle ledger, y;
    TRY(bt_record(run_denied, &c, &ledger));
    TRY(bt_to_strided(c.y, NULL, &y));
    float result[24];
    TRY(bt_tensor_read(y, result, sizeof result));
    printf("result:");
    for (int i = 0; i < 24; i++) printf(" %.6g", result[i]);
    printf("\n");
    char text[64];
    size_t needed;
    TRY(bt_describe(ledger, text, sizeof text, &needed));
    printf("ledger: %zu bytes, \"%.20s\"\n", needed, text);

    if (errors(x, dict)) return 1;
    TRY(bt_free(x)); TRY(bt_free(y)); TRY(bt_free(c.y)); TRY(bt_free(c.first)); TRY(bt_free(c.second));
    TRY(bt_free(ledger)); TRY(bt_free(dict));
    printf("live handles: %zu\n", bt_live_handles());
    return bt_live_handles() != 0;
}
