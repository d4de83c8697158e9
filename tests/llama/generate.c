/* Greedy generation by llama.cpp: the same C program on any of its backends.
 *
 *     generate MODEL LAYERS PROMPT TOKENS
 *
 * LAYERS of the model are on the accelerator (0: the CPU backend alone). The prompt is
 * the PROMPT tokens 7, 20, 33, ... of the vocabulary. The output's first line are the
 * TOKENS tokens that follow, each the one with the largest logit; the second one how many
 * tokens a second the prompt and the generation took.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "llama.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Errors alone. */
static void say(enum ggml_log_level level, const char *text, void *user) {
    (void)user;
    if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

static llama_token largest(const float *logits, int n) {
    int best = 0;
    for (int i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

/* Prints; 0 on success. */
static int generate(struct llama_context *context, int vocabulary, int prompt,
                    int count) {
    llama_token *tokens = malloc((size_t)prompt * sizeof *tokens);
    if (!tokens) return 1;
    for (int i = 0; i < prompt; i++)
        tokens[i] = (7 + 13 * i) % vocabulary;
    double begun = now(), filled = begun;
    struct llama_batch batch = llama_batch_get_one(tokens, prompt);
    for (int i = 0; i < count; i++) {
        if (llama_decode(context, batch)) {
            free(tokens);
            return 1;
        }
        tokens[0] = largest(llama_get_logits_ith(context, -1), vocabulary);
        if (i == 0) filled = now();
        printf("%d ", tokens[0]);
        batch = llama_batch_get_one(tokens, 1);
    }
    printf("\n%.2f %.2f\n", prompt / (filled - begun), (count - 1) / (now() - filled));
    free(tokens);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: %s MODEL LAYERS PROMPT TOKENS\n", argv[0]);
        return 2;
    }
    int prompt = atoi(argv[3]), count = atoi(argv[4]);
    if (prompt < 1 || count < 2) return 2;
    llama_log_set(say, NULL);
    ggml_backend_load_all();
    struct llama_model_params of_model = llama_model_default_params();
    of_model.n_gpu_layers = atoi(argv[2]);
    ggml_backend_dev_t none[] = {NULL};
    if (of_model.n_gpu_layers == 0) of_model.devices = none;
    struct llama_model *model = llama_model_load_from_file(argv[1], of_model);
    if (!model) return 1;
    struct llama_context_params of_context = llama_context_default_params();
    of_context.n_ctx = (uint32_t)(prompt + count);
    of_context.n_batch = of_context.n_ctx;
    of_context.n_threads = of_context.n_threads_batch = 2;
    struct llama_context *context = llama_init_from_model(model, of_context);
    int failed = 1;
    if (context) {
        int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
        failed = generate(context, vocabulary, prompt, count);
    }
    llama_free(context);
    llama_model_free(model);
    return failed;
}
