/* An ONNX model through the C interface: it is planned in blocked layout for the sizes of a stored image, and run on it. Prints
 * the plan and the largest scores.
 *
 *   cc model.c -I../include -L$LIBRARY -lblocktensor_c -o model && ./model resnet.onnx resnet.image.npy
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocktensor.h"

#define TRY(call) do { if ((call) != 0) { printf("%s: %s\n", #call, bt_last_error_message()); return 1; } } while (0)

struct array { size_t rank; int64_t dims[12]; size_t count; float *numbers; };

/* Reads a .npy file of f32 numbers in row-major order: ten bytes, a header in Python's notation, the numbers. */
static int read_npy(const char *path, struct array *a) {
    unsigned char start[10];
    char header[4096];
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    int good = fread(start, 1, 10, file) == 10 && memcmp(start, "\x93NUMPY\x01", 7) == 0;
    size_t length = good ? start[8] + 256u * start[9] : 0;
    good = good && length < sizeof header && fread(header, 1, length, file) == length;
    header[good ? length : 0] = 0;
    char *sizes = strstr(header, "'shape': (");
    good = good && sizes && strstr(header, "'<f4'") && strstr(header, "'fortran_order': False");
    a->rank = 0; a->count = 1;
    for (char *at = good ? strchr(sizes, '(') + 1 : NULL, *end; at && a->rank < 12; at = end + strspn(end, ", ")) {
        int64_t size = strtoll(at, &end, 10);
        if (end == at) break;
        a->dims[a->rank++] = size;
        a->count *= (size_t)size;
    }
    a->numbers = good ? malloc(a->count * sizeof(float)) : NULL;
    good = a->numbers && fread(a->numbers, sizeof(float), a->count, file) == a->count;
    fclose(file);
    return good;
}

/* Prints the three largest of the numbers, each with its index. */
static void print_largest(int64_t image, float *numbers, size_t count) {
    printf("image %lld:", (long long)image);
    for (int place = 0; place < 3 && (size_t)place < count; place++) {
        size_t best = 0;
        for (size_t i = 1; i < count; i++) if (numbers[i] > numbers[best]) best = i;
        printf(" class %zu %.6f%s", best, numbers[best], place < 2 ? "," : "\n");
        numbers[best] = -1e30f;
    }
}

int main(int argc, char **argv) {
    if (argc != 3) { printf("usage: model model.onnx image.npy\n"); return 2; }
    if (bt_abi_version() != BT_ABI_VERSION) { printf("the library is of another version\n"); return 1; }
    struct array image = {0};
    if (!read_npy(argv[2], &image)) { printf("%s: no .npy file of f32 numbers\n", argv[2]); return 1; }

    /* The model says what it takes. Sizes that it leaves open have names. */
    bt_handle model, plan;
    bt_value_info input, output;
    size_t count;
    TRY(bt_model_load(argv[1], &model));
    TRY(bt_model_inputs(model, &input, 1, &count));
    if (count != 1 || input.rank != image.rank) { printf("the model takes other inputs\n"); return 1; }
    bt_named_size sizes[12];
    size_t named = 0;
    for (size_t i = 0; i < input.rank; i++) {
        if (!input.dim_names[i]) continue;
        sizes[named].name = input.dim_names[i];
        sizes[named++].size = image.dims[i];
    }

    TRY(bt_plan_new(model, "blocked", sizes, named, NULL, 0, &plan));
    TRY(bt_free(model));
    size_t needed;
    TRY(bt_plan_text(plan, NULL, 0, &needed));
    char *text = malloc(needed);
    if (!text) return 1;
    TRY(bt_plan_text(plan, text, needed, NULL));
    printf("%s", text);
    free(text);

    /* A plan runs as often as you like, also from several threads at once. */
    bt_handle x, y;
    TRY(bt_tensor_from_data(BT_F32, image.rank, image.dims, NULL, image.numbers, image.count * sizeof(float), &x));
    free(image.numbers);
    TRY(bt_plan_run(plan, &x, 1, &y, 1, NULL));
    TRY(bt_plan_outputs(plan, &output, 1, NULL));
    size_t scores = 1;
    for (size_t i = 1; i < output.rank; i++) scores *= (size_t)output.dims[i];
    int64_t images = output.rank > 0 ? output.dims[0] : 1;
    float *result = malloc((size_t)images * scores * sizeof(float));
    if (!result) return 1;
    TRY(bt_tensor_read(y, result, (size_t)images * scores * sizeof(float)));
    for (int64_t i = 0; i < images; i++) print_largest(i, result + (size_t)i * scores, scores);
    free(result);

    TRY(bt_free(plan)); TRY(bt_free(x)); TRY(bt_free(y));
    printf("live handles: %zu\n", bt_live_handles());
    return bt_live_handles() != 0;
}
