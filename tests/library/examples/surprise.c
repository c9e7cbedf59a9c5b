/* How much a text surprises a model, in bits per character:  surprise RUN TEXT */
#include <chargpt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(void) {
  fprintf(stderr, "surprise: %s\n", chargpt_last_error());
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: surprise RUN TEXT\n");
    return 2;
  }
  chargpt_model* model;
  if (chargpt_open(argv[1], NULL, &model) != CHARGPT_OK) return failed();
  size_t length = strlen(argv[2]), count;
  float* losses = malloc((length + 1) * sizeof *losses); /* a text has no more characters than bytes */
  if (chargpt_score(model, argv[2], length, CHARGPT_UNKNOWN_REPLACE, losses, length, &count) != CHARGPT_OK)
    return failed();
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += losses[i];
  printf("%zu characters, %.4f bits each\n", count, count ? sum / (double)count / 0.6931471805599453 : 0.0);
  free(losses);
  chargpt_close(model);
  return 0;
}
