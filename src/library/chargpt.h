/* Trained chargpt models in other programs: open, inspect, sample and score them. Plain C, for every language; C++
 * programs include chargpt.hpp, which uses this. No function trains, prints, logs or ends the process.
 *
 * A model may be used by several threads at once. Texts are UTF-8 and come with a length in bytes; only
 * paths, names and stop strings are zero-terminated. Sizes of arrays are in elements.
 *
 * Functions return CHARGPT_OK or an error status; chargpt_last_error() then returns a one-line message. On error the
 * output arguments are unchanged. */
#ifndef CHARGPT_H
#define CHARGPT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CHARGPT_API __attribute__((visibility("default")))
#else
#define CHARGPT_API
#endif

/* The number of this interface, and of libchargpt.so: incremented by incompatible changes only. */
#define CHARGPT_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

/* Equal to the exit codes of the program. */
enum chargpt_status {
  CHARGPT_OK = 0,
  CHARGPT_USAGE = 2,       /* a bad argument */
  CHARGPT_DATA = 65,       /* a checkpoint is damaged; a text is not UTF-8, or has characters outside the vocabulary */
  CHARGPT_MISSING = 66,    /* the run does not exist */
  CHARGPT_INTERNAL = 70,   /* a bug in chargpt */
  CHARGPT_IO = 74,         /* reading failed */
  CHARGPT_NOT_FINITE = 80, /* the model produced NaN or infinity */
  CHARGPT_MEMORY = 81      /* out of memory */
};

/* What to do with characters outside the model's vocabulary. */
enum chargpt_unknown {
  CHARGPT_UNKNOWN_ERROR = 0,
  CHARGPT_UNKNOWN_SKIP = 1,
  CHARGPT_UNKNOWN_REPLACE = 2 /* by '?', else ' ', else the first symbol */
};

/* The version of the loaded library, "0.2.0", and its CHARGPT_ABI. */
CHARGPT_API const char* chargpt_version(void);
CHARGPT_API int chargpt_abi(void);

/* Message of this thread's last failed call, or "". Valid until its next call. */
CHARGPT_API const char* chargpt_last_error(void);

typedef struct chargpt_model chargpt_model;

/* Structures of options begin with their size, so that programs keep working with newer libraries:
 *   struct chargpt_open_options options;
 *   options.size = sizeof options;
 *   chargpt_open_defaults(&options); */
struct chargpt_open_options {
  size_t size;
  const char* checkpoint; /* "best", "last" or "step-N"; NULL: best */
  const char* weights;    /* "better", "trained" or "averaged"; NULL: better */
  int threads;            /* of each call; 0: one per core */
};

/* Sets the defaults: best checkpoint, better weights, one thread. */
CHARGPT_API int chargpt_open_defaults(struct chargpt_open_options* options);

/* Opens the model of a run folder or of one checkpoint file. The files may be changed or deleted afterwards.
 * `options` NULL: the defaults. */
CHARGPT_API int chargpt_open(const char* path, const struct chargpt_open_options* options, chargpt_model** model);
/* Opens a model from the bytes of a checkpoint file, which are copied; options->checkpoint is ignored. */
CHARGPT_API int chargpt_open_memory(const void* bytes, size_t size, const struct chargpt_open_options* options,
                                    chargpt_model** model);
/* Closing NULL does nothing. */
CHARGPT_API void chargpt_close(chargpt_model* model);

/* Facts about a model: valid while it is open; "" or 0 if it is NULL. */
CHARGPT_API const char* chargpt_checkpoint(const chargpt_model* model); /* its file */
CHARGPT_API const char* chargpt_config(const chargpt_model* model);     /* of the run, as JSON */
CHARGPT_API const char* chargpt_notices(const chargpt_model* model);    /* notes from opening it; mostly "" */
CHARGPT_API int64_t chargpt_step(const chargpt_model* model);           /* training steps */
CHARGPT_API int64_t chargpt_parameters(const chargpt_model* model);
CHARGPT_API int64_t chargpt_block_size(const chargpt_model* model);      /* maximum context in characters, T */
CHARGPT_API int64_t chargpt_vocabulary_size(const chargpt_model* model); /* V */
/* The id that starts a text: newline, or in models of documents the id between them, else the most frequent one.
 * It is put before an empty prompt, and before every text of a model of documents.
 */
CHARGPT_API int64_t chargpt_start_symbol(const chargpt_model* model);

/* Writes the UTF-8 of one id (in a byte-level model its byte) into `text`: 1 to 4 bytes, or 0 bytes for the id
 * between documents. */
CHARGPT_API int chargpt_symbol(const chargpt_model* model, int64_t id, char text[4], size_t* length);

/* The functions below that take a `capacity` write all values or, if they exceed it, none, and return CHARGPT_USAGE.
 * They set `count`, or the shape, in both cases; pass a NULL buffer to get only that. */

/* Writes the ids of a text. */
CHARGPT_API int chargpt_encode(const chargpt_model* model, const char* text, size_t length,
                               enum chargpt_unknown unknown, int64_t* ids, size_t capacity, size_t* count);

/* Receives each piece of generated text: whole characters. A return value other than 0 ends the text there. */
typedef int (*chargpt_on_text)(void* context, const char* piece, size_t length);

struct chargpt_generate_options {
  size_t size;
  const char* prompt; /* NULL or empty: starts a new text, as after a newline */
  size_t prompt_length;
  enum chargpt_unknown unknown;
  int64_t tokens; /* maximum number of characters (byte-level models: of bytes) */
  double temperature;
  int64_t top_k; /* 0: all */
  double top_p, min_p;
  uint64_t seed;
  int64_t sample; /* number of the sample: each has its own random stream (seed, sample) */
  const char* const* stops;
  size_t stop_count; /* strings that end the text; they are not written */
};

/* Sets the defaults of `chargpt sample`: the run's temperature, filters and tokens, seed 1337. */
CHARGPT_API int chargpt_generate_defaults(const chargpt_model* model, struct chargpt_generate_options* options);

/* Continues a prompt, as `chargpt sample` does for the same options; does not pass the prompt itself to `on_text`. */
CHARGPT_API int chargpt_generate(const chargpt_model* model, const struct chargpt_generate_options* options,
                                 chargpt_on_text on_text, void* context);

/* Losses (nats) of the characters of a text from the second on, as in `chargpt score`: each is predicted from half a
 * window to a whole window before it. A model of documents takes the text as one, and scores the first one too. */
CHARGPT_API int chargpt_score(const chargpt_model* model, const char* text, size_t length, enum chargpt_unknown unknown,
                              float* losses, size_t capacity, size_t* count);

/* Logits (V) of the symbol that follows a text; only its last block_size characters count. */
CHARGPT_API int chargpt_logits(const chargpt_model* model, const char* text, size_t length,
                               enum chargpt_unknown unknown, float* logits, size_t capacity);

/* Logits (count, V) of the symbol after each of 1 to block_size ids, which begin a window, without a start symbol. */
CHARGPT_API int chargpt_logits_of_ids(const chargpt_model* model, const int64_t* ids, size_t count, float* logits,
                                      size_t capacity);

/* Attention weights (layers, heads, T, T) of a text's last block_size characters; a row has a query's weights over all
 * keys. In a model of documents the start id precedes the text, and T includes it. */
CHARGPT_API int chargpt_attention(const chargpt_model* model, const char* text, size_t length,
                                  enum chargpt_unknown unknown, float* weights, size_t capacity, int64_t* layers,
                                  int64_t* heads, int64_t* T);

#ifdef __cplusplus
}
#endif
#endif
