#include <soxr.h>

#include <memory>

#include "base/error.h"
#include "base/library.h"
#include "modules/audio.h"

namespace hub {
namespace {

struct Soxr {
  decltype(&::soxr_create) create;
  decltype(&::soxr_process) process;
  decltype(&::soxr_delete) destroy;
  decltype(&::soxr_quality_spec) quality_spec;

  static const Soxr& get() {
    static const Soxr functions = [] {
      const Library library("libsoxr.so.0", "sounds of another rate than the module's",
                            "install libsoxr 0.1.3, or resample the sound before");
      Soxr f{};
      library.symbol(f.create, "soxr_create");
      library.symbol(f.process, "soxr_process");
      library.symbol(f.destroy, "soxr_delete");
      library.symbol(f.quality_spec, "soxr_quality_spec");
      return f;
    }();
    return functions;
  }
};

}  // namespace

Audio resample(const Audio& audio, int rate, int64_t max_samples) {
  if (audio.rate < 1 || rate < 1) {
    fail(Code::usage, "cannot resample from ", audio.rate, " to ", rate, " samples a second");
  }
  if (audio.rate == rate || audio.samples.empty()) return {.rate = rate, .samples = audio.samples};
  const auto count = static_cast<int64_t>(audio.samples.size());
  const auto wanted = (static_cast<__int128>(count) * rate + audio.rate - 1) / audio.rate;
  if (wanted > max_samples) {
    fail(Code::refused, "a sound of ", count, " samples at ", audio.rate,
         " a second has more than ", max_samples, " at ", rate,
         ", which is the limit; cut it into pieces");
  }
  const Soxr& lib = Soxr::get();
  const soxr_quality_spec_t quality = lib.quality_spec(SOXR_HQ, 0);
  soxr_error_t error = nullptr;
  const std::unique_ptr<soxr, decltype(lib.destroy)> resampler(
      lib.create(audio.rate, rate, 1, &error, nullptr, &quality, nullptr), lib.destroy);
  const auto check = [&] {
    if (error != nullptr)
      fail(Code::refused, "cannot resample from ", audio.rate, " to ", rate, ": ", error);
  };
  check();
  Audio out{.rate = rate, .samples = std::vector<float>(static_cast<size_t>(wanted))};
  size_t done = 0, more = 0;
  error = lib.process(resampler.get(), audio.samples.data(), audio.samples.size(), nullptr,
                      out.samples.data(), out.samples.size(), &done);
  check();
  // Without input: what the filter still holds. What it does not fill stays silent.
  error = lib.process(resampler.get(), nullptr, 0, nullptr, out.samples.data() + done,
                      out.samples.size() - done, &more);
  check();
  return out;
}

}  // namespace hub
