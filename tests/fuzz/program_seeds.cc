// Adds to what the fuzz target of our own format starts from: the program of every ONNX model
// among the seeds.
//   program_seeds SEEDS
#include <filesystem>

#include "tests/fuzz/target.h"

int main(int, char** argv) {
  using namespace hub;
  const std::string seeds = argv[1];
  const std::string models = read_file(seeds + "/onnx.txt");
  std::string list = read_file(seeds + "/program.txt");
  std::filesystem::create_directories(seeds + "/program");
  for (size_t at = 0, end = 0; at < models.size(); at = end + 1) {
    end = std::min(models.find(',', at), models.size());
    const std::string model = models.substr(at, end - at);
    const std::string name = std::filesystem::path(model).stem().string();
    const std::string path = concat(seeds, "/program/", name);
    attempt([&] {
      const std::string bytes = read_file(model);
      write_file(path, to_bytes(import_onnx(OneFile(bytes), RelPath::parse("model.onnx"))));
      list += concat(list.empty() ? "" : ",", path);
    });
  }
  write_file(seeds + "/program.txt", list);
}
