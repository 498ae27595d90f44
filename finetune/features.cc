#include "finetune/features.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "finetune/cut.h"
#include "modules/adapt.h"

namespace hub {
namespace {

/// [rows, width] of a data set: from the file, or computed and left there.
Tensor features_of(const TrainJob& job, const Program& backbone, const Dataset& data,
                   const std::string& path) {
  const auto rows = static_cast<int64_t>(data.items.size());
  if (!path.empty() && exists(path)) {
    Tensor kept = read_npy(MappedFile::open(path));
    if (kept.dtype() == DType::f32 && kept.shape().rank() == 2 && kept.shape()[0] == rows)
      return kept;
  }
  Tensor all;
  run_over(
      backbone, job.device, job.encode, data, 32, job.options.loaders,
      [&](std::span<const Item* const> items, std::span<const Tensor> outputs) {
        const Tensor& some = outputs[0];
        if (some.dtype() != DType::f32 || some.shape().rank() != 2 ||
            some.shape()[0] != static_cast<int64_t>(items.size()))
          fail(Code::unsupported, "the features are ", some.spec().str(), ", not one row an input");
        const int64_t width = some.shape()[1];
        if (!all) all = Tensor(DType::f32, {rows, width});
        for (size_t i = 0; i < items.size(); ++i) {
          const auto row = items[i] - data.items.data();
          std::copy_n(some.data<float>() + static_cast<int64_t>(i) * width, width,
                      all.data<float>() + row * width);
        }
      },
      job.stop);
  if (path.empty() || !all) return all;
  write_file(path, write_npy(all));
  return read_npy(MappedFile::open(path));
}

}  // namespace

std::optional<FeatureJob> feature_job(const TrainJob& job) {
  if (job.network.find("head.features") == absent) return {};
  const ValueId features = head_features(job.network);
  FeatureJob f{job, {}, {}};
  const Program backbone = cut_before(job.network, features);
  try {
    f.job.network = cut_after(job.network, features);
    const auto path = [&](const char* part) {
      return job.features.empty() ? std::string() : concat(job.features, ".", part, ".npy");
    };
    f.train = features_of(job, backbone, *job.train, path("train"));
    f.validation = features_of(job, backbone, *job.validation, path("validation"));
  } catch (const Error& e) {
    if (e.code() != Code::unsupported) throw;
    return {};
  }
  f.job.encode = [train = f.train, validation = f.validation, from = job.train,
                  other = job.validation](std::span<const Item* const> items, uint64_t,
                                          bool) -> std::vector<Tensor> {
    if (items.empty()) return {Tensor{}};
    const Item* first = from->items.data();
    const bool trains = items[0] >= first && items[0] < first + from->items.size();
    const Tensor& source = trains ? train : validation;
    if (!trains) first = other->items.data();
    const int64_t width = source.shape()[1];
    Tensor rows(DType::f32, {static_cast<int64_t>(items.size()), width});
    for (size_t i = 0; i < items.size(); ++i) {
      std::copy_n(source.data<float>() + (items[i] - first) * width, width,
                  rows.data<float>() + static_cast<int64_t>(i) * width);
    }
    return {rows};
  };
  f.job.options.loaders = 1;
  return f;
}

}  // namespace hub
