// Goes on from a prompt, as the model's text comes:  write RUN [PROMPT]
#include <chargpt.hpp>
#include <iostream>

int main(int argc, char** argv) try {
  if (argc < 2) throw std::runtime_error("usage: write RUN [PROMPT]");
  const chargpt::Model model(argv[1]);
  const std::string prompt = argc > 2 ? argv[2] : "";
  std::cerr << model.parameters() << " parameters, " << model.vocabulary_size() << " symbols, step " << model.step()
            << "\n";
  std::cout << prompt;
  chargpt::GenerateOptions options;
  options.prompt = prompt;
  options.tokens = 200;
  model.generate(options, [](std::string_view piece) {
    std::cout << piece << std::flush;
    return true;
  });
  std::cout << "\n";
} catch (const std::exception& error) {
  std::cerr << "write: " << error.what() << "\n";
  return 1;
}
