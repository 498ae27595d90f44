// Models from the wild that others read wrongly: rows I01 to I24 of the case log, each a folder of
// tests/data/import with the model, its inputs and the right answer.
#include <catch2/catch.hpp>
#include <filesystem>

#include "runtime/session.h"
#include "tests/error_of.h"
#include "tests/runtime/files.h"
#include "tests/runtime/plain_run.h"
#include "tests/scratch.h"

namespace hub {
namespace {

std::string folder_of(std::string_view name) {
  return concat(HUB_SOURCE_DIR, "/tests/data/import/", name);
}

Program import_case(std::string_view name) {
  return import_onnx(FolderFiles(folder_of(name)), RelPath::parse("model.onnx"));
}

Tensor array(std::string_view name, std::string_view file) {
  return read_npy(MappedFile::open(concat(folder_of(name), "/", file, ".npy")));
}

std::vector<Tensor> inputs_of(std::string_view name, const Program& program) {
  std::vector<Tensor> inputs;
  for (ValueId id : program.inputs) inputs.push_back(array(name, concat("in_", program[id].name)));
  return inputs;
}

}  // namespace

TEST_CASE("import cases: the right values, on every device") {
  const std::pair<const char*, std::vector<const char*>> rows[] = {
      {"I01", {"softmax_op11_default_axis", "softmax_op13_default_axis"}},
      {"I03", {"avgpool_end_pad_incl_op11", "avgpool_end_pad_incl_op19", "avgpool_ceil_1d_op19"}},
      {"I05", {"maxpool_ceil_no_empty_window", "maxpool_same_upper_even"}},
      {"I06",
       {"resize_tie_round_prefer_ceil", "resize_tie_round_prefer_floor",
        "resize_linear_4to7_align_corners", "resize_linear_4to7_asymmetric",
        "resize_linear_4to7_half_pixel"}},
      {"I08", {"pad_negative_crop", "pad_reflect_rows"}},
      {"I10", {"slice_neg_step_9_0_m3", "slice_full_reverse_int64min", "reshape_allowzero"}},
      {"I12", {"convtranspose_same_upper_s2", "convtranspose_output_padding"}},
      {"I14", {"gru_bidir_lbr0", "gru_layout1"}},
      {"I16", {"dequantize_axis1", "quantize_ties_even", "cast_truncates", "mod_int_sign"}},
      {"I18", {"topk_ties", "argmax_last_index"}},
      {"I20", {"init_in_inputs_ir3", "clip_missing_min"}},
      {"I22", {"external_ok"}},
      {"P04", {"batch_dynamic", "batch_fixed1"}},
  };
  for (const auto& [row, names] : rows)
    for (const char* name : names)
      for (const char* device : {"reference", "cpu"}) {
        INFO(row << ' ' << name << ' ' << device);
        const Program program = import_case(name);
        const auto inputs = inputs_of(name, program);
        const auto outputs =
            Session(program, {.device = device, .pack_file = {}, .states = {}}).run(inputs);
        size_t wanted = 0;
        for (const auto& entry : std::filesystem::directory_iterator(folder_of(name)))
          wanted += entry.path().filename().string().starts_with("out_") ? 1 : 0;
        REQUIRE(outputs.size() == wanted);
        for (size_t i = 0; i < outputs.size(); ++i) {
          const Tensor right = array(name, concat("out_", program[program.outputs[i]].name));
          CAPTURE(outputs[i].spec().str(), outputs[i].to_floats(), right.to_floats());
          CHECK(difference(outputs[i], right) < 2e-6);
        }
      }
}

TEST_CASE("import cases: I18, where peers differ the answer is at least repeatable") {
  const Program program = import_case("argmax_nan_undefined");
  const auto inputs = inputs_of("argmax_nan_undefined", program);
  const auto once = plain_run(program, inputs)[0].to_ints();
  for (int64_t i : once) CHECK((i >= 0 && i < inputs[0].shape().back()));
  for (const char* device : {"reference", "cpu"})
    CHECK(Session(program, {.device = device, .pack_file = {}, .states = {}})
              .run(inputs)[0]
              .to_ints() == once);
}

TEST_CASE("import cases: P04, a network of a fixed batch refuses another") {
  Session session(import_case("batch_fixed1"));
  const Tensor one = inputs_of("batch_fixed1", session.program())[0];
  Shape three = one.shape();
  three[0] = 3;
  CHECK_THAT(error_of(Code::usage, [&] { session.run({Tensor(one.dtype(), three)}); }),
             Catch::Contains("[3, ") && Catch::Contains("[1, "));
}

TEST_CASE("import cases: I24, a folder with a program of Paddle 3 is refused by name") {
  const Scratch folder;
  folder.put("inference.json", "{\"program\": {}}");
  CHECK_THAT(error_of(Code::unsupported, [&] { import_file(folder.path()); }),
             Catch::Contains("inference.json") && Catch::Contains("PIR"));
}

}  // namespace hub
