// Recurrent layers: the input of all steps in one product, then step by step, all sequences that
// are still running at once, with the recurrent weights in panels that stay in the cache. The
// directions run on different threads.
#include "runtime/device/onednn/kernels_gemm.h"
#include "runtime/device/onednn/kernels_recurrent.h"
#include "runtime/device/onednn/onednn.h"
#include "runtime/device/onednn/panels.h"
#include "runtime/device/onednn/vector.h"
#include "runtime/ops/kernel.h"
#include "runtime/ops/nn.h"
#include "runtime/ops/rnn_gates.h"
#include "runtime/ops/rnn_sizes.h"

namespace hub::onednn {
namespace {

/// A run of rows: of the projected input, or of the output.
struct Walk {
  int64_t first, step;
};
struct Sequence {
  int64_t index;  ///< in the batch
  int64_t length;
  Walk in, out;
};

/// One direction of one layer. Gates of a GRU are update, reset, candidate; of an LSTM i, o, f, c.
struct Direction {
  RnnKind kind;
  int64_t hidden;
  float* projected;              ///< [rows, gates * hidden], biases that add up are in it
  const float* weights[4];       ///< packed, of each gate
  const float* inner = nullptr;  ///< GRU: the bias inside the reset, [hidden]
  bool reset_after = false, swapped = false;
  float* y = nullptr;  ///< rows of `hidden`, or null
  float* h = nullptr;  ///< [batch, hidden], the state before and after, by index of the sequence
  float* c = nullptr;
  float* state;  ///< room: see room()
};

/// Numbers that a direction needs beside: states of the sorted sequences, what the products give.
int64_t room(RnnKind kind, int64_t batch, int64_t hidden) {
  return batch * hidden * (3 + gates_of(kind));
}

/// `sequences` are sorted, the longest first.
void run_direction(const Direction& d, const std::vector<Sequence>& sequences) {
  const int64_t n = d.hidden;
  const int64_t wide = gates_of(d.kind) * n;
  const auto batch = static_cast<int64_t>(sequences.size());
  float* h = d.state;
  float* c = h + batch * n;
  float* reset = c + batch * n;
  float* fed = reset + batch * n;
  for (int64_t s = 0; s < batch; ++s) {
    const int64_t from = sequences[static_cast<size_t>(s)].index * n;
    std::copy_n(d.h + from, n, h + s * n);
    if (d.c != nullptr) std::copy_n(d.c + from, n, c + s * n);
  }
  int64_t running = batch;
  for (int64_t t = 0; running > 0; ++t) {
    while (running > 0 && sequences[static_cast<size_t>(running - 1)].length <= t) --running;
    if (running == 0) break;
    const bool late = d.kind == RnnKind::gru && !d.reset_after;  // the candidate reads r * h
    for (int64_t g = 0; g < gates_of(d.kind) - (late ? 1 : 0); ++g)
      gemm_panels(running, n, n, h, n, d.weights[g], fed + g * n, wide, false);
    for (int64_t s = 0; s < running; ++s) {
      const Walk& in = sequences[static_cast<size_t>(s)].in;
      float* x = d.projected + (in.first + t * in.step) * wide;
      if (d.kind == RnnKind::lstm) {
        lstm_state(x, fed + s * wide, c + s * n, h + s * n, n);
      } else {
        float* inner = fed + s * wide + 2 * n;
        sigmoid_gate(x, fed + s * wide, 2 * n);
        if (late) {
          product_row(x + n, h + s * n, reset + s * n, n);
        } else {
          if (d.inner != nullptr) add_row(inner, d.inner, n);
          product_row(x + n, inner, inner, n);
        }
      }
    }
    if (late) gemm_panels(running, n, n, reset, n, d.weights[2], fed + 2 * n, wide, false);
    for (int64_t s = 0; s < running; ++s) {
      const Sequence& q = sequences[static_cast<size_t>(s)];
      if (d.kind == RnnKind::gru) {
        const float* x = d.projected + (q.in.first + t * q.in.step) * wide;
        gru_state(x + 2 * n, fed + s * wide + 2 * n, x, d.swapped, h + s * n, n);
      }
      if (d.y != nullptr) std::copy_n(h + s * n, n, d.y + (q.out.first + t * q.out.step) * n);
    }
  }
  for (int64_t s = 0; s < batch; ++s) {
    const int64_t to = sequences[static_cast<size_t>(s)].index * n;
    std::copy_n(h + s * n, n, d.h + to);
    if (d.c != nullptr) std::copy_n(c + s * n, n, d.c + to);
  }
}

void sort_longest_first(std::vector<Sequence>& sequences) {
  std::ranges::sort(sequences, [](const Sequence& a, const Sequence& b) {
    return a.length != b.length ? a.length > b.length : a.index < b.index;
  });
}

/// projected = x * w + bias, rows over the team; `width` columns each of `parts` products.
void project(const float* x, int64_t rows, int64_t k, const std::vector<const float*>& weights,
             const std::vector<const float*>& biases, int64_t width, float* projected) {
  constexpr int64_t grain = 48;
  const int64_t pieces = (rows + grain - 1) / grain;
  const int64_t parts = static_cast<int64_t>(weights.size());
#pragma omp parallel for schedule(static) if (rows * k * width >= worth_a_thread * 8)
  for (int64_t task = 0; task < pieces * parts; ++task) {
    const int64_t part = task / pieces, row = task % pieces * grain;
    const int64_t here = std::min(grain, rows - row);
    float* y = projected + (part * rows + row) * width;
    const auto p = static_cast<size_t>(part);
    gemm_panels(here, width, k, x + row * k, k, weights[p], y, width, false);
    if (!biases[p]) continue;
    for (int64_t r = 0; r < here; ++r) add_row(y + r * width, biases[p], width);
  }
}

/// Only the functions that nearly every network has.
bool usual_functions(const Attrs& attrs, RnnKind kind, int64_t directions) {
  using K = GateFunction::Kind;
  for (const auto& f : gate_functions(attrs, rnn_functions(kind), directions)) {
    for (size_t i = 0; i < f.size(); ++i)
      if (f[i].kind != (i == 0 ? K::sigmoid : K::tanh) || f[i].clip != 0) return false;
  }
  return true;
}

/// Inputs of ONNX's gru and lstm.
enum : size_t { in_x, in_w, in_r, in_b, in_lengths, in_h, in_c, in_peepholes };

struct Onnx {
  RnnKind kind;
  RnnSizes s;
  bool reverse, reset_after;
  int64_t w_piece, r_piece;

  int64_t wide() const { return s.gates * s.hidden; }
  int64_t rows() const { return s.steps * s.batch; }
  int64_t per_direction() const {
    return rows() * wide() + 2 * wide() + 2 * s.batch * s.hidden + room(kind, s.batch, s.hidden);
  }

  void lay_out(int64_t d, const int32_t* lengths, std::vector<Sequence>& all) const {
    all.clear();
    const int64_t directions = s.directions;
    for (int64_t b = 0; b < s.batch; ++b) {
      const int64_t length = lengths != nullptr ? lengths[b] : s.steps;
      if (length < 0 || length > s.steps)
        fail(Code::refused, "a sequence of ", length, " in ", s.steps, " steps");
      Walk in = s.batch_first ? Walk{b * s.steps, 1} : Walk{b, s.batch};
      Walk out = s.batch_first ? Walk{b * s.steps * directions + d, directions}
                               : Walk{d * s.batch + b, directions * s.batch};
      if (reverse || d == 1) {
        in = {in.first + (length - 1) * in.step, -in.step};
        out = {out.first + (length - 1) * out.step, -out.step};
      }
      all.push_back({b, length, in, out});
    }
    sort_longest_first(all);
  }

  /// Where the state of sample b of direction d lies in [directions, B, H] or [B, directions, H].
  int64_t state_at(int64_t d, int64_t b) const {
    return (s.batch_first ? b * s.directions + d : d * s.batch + b) * s.hidden;
  }

  /// The lists of one run, kept for the next one.
  struct Lists {
    std::vector<const float*> weights, biases;
    std::vector<Direction> directions;
    std::vector<std::vector<Sequence>> walks;
  };

  void run(const Places& at, Lists& lists) const {
    const int64_t n = s.hidden;
    const auto place = [&](size_t i) { return i < at.in.size() ? at.in[i] : nullptr; };
    const auto given = [&](size_t i) { return static_cast<const float*>(place(i)); };
    const float* bias = given(in_b);
    const auto* lengths = static_cast<const int32_t*>(place(in_lengths));
    auto* y = static_cast<float*>(at.out[0]);
    if (y != nullptr && lengths != nullptr)
      std::fill_n(y, rows() * s.directions * n, 0.0F);  // steps behind the end of a sequence
    auto* projected = static_cast<float*>(at.scratch);
    float* rest = projected + s.directions * rows() * wide();
    auto& [weights, biases, directions, walks] = lists;
    weights.clear();
    biases.clear();
    directions.clear();
    walks.resize(static_cast<size_t>(s.directions));
    for (int64_t d = 0; d < s.directions; ++d) {
      weights.push_back(static_cast<const float*>(at.in[in_w]) + d * w_piece);
      biases.push_back(nullptr);
      if (bias == nullptr) continue;
      // What is added to the product of the input anyway; a GRU that resets behind the product
      // keeps its last bias inside.
      float* sum = rest + d * wide();
      const float* b = bias + d * 2 * wide();
      const int64_t plain = reset_after && kind == RnnKind::gru ? 2 * n : wide();
      for (int64_t i = 0; i < wide(); ++i) sum[i] = b[i] + (i < plain ? b[wide() + i] : 0.0F);
      biases.back() = sum;
    }
    rest += s.directions * wide();
    project(static_cast<const float*>(at.in[in_x]), rows(), s.features, weights, biases, wide(),
            projected);
    for (int64_t d = 0; d < s.directions; ++d) {
      Direction one;
      one.kind = kind;
      one.hidden = n;
      one.projected = projected + d * rows() * wide();
      for (int64_t g = 0; g < s.gates; ++g)
        one.weights[g] = static_cast<const float*>(at.in[in_r]) + (d * s.gates + g) * r_piece;
      one.reset_after = reset_after;
      if (reset_after && bias != nullptr && kind == RnnKind::gru)
        one.inner = bias + d * 2 * wide() + wide() + 2 * n;
      one.y = y;
      one.h = rest;
      one.c = kind == RnnKind::lstm ? rest + s.batch * n : nullptr;
      one.state = rest + 2 * s.batch * n;
      rest = one.state + room(kind, s.batch, n);
      for (int64_t b = 0; b < s.batch; ++b) {
        for (size_t k : {in_h, in_c}) {
          float* state = k == in_h ? one.h : one.c;
          if (state == nullptr) continue;
          if (given(k) != nullptr)
            std::copy_n(given(k) + state_at(d, b), n, state + b * n);
          else
            std::fill_n(state + b * n, n, 0.0F);
        }
      }
      directions.push_back(one);
      lay_out(d, lengths, walks[static_cast<size_t>(d)]);
    }
#pragma omp parallel for schedule(static) if (s.directions > 1)
    for (int64_t d = 0; d < s.directions; ++d)
      run_direction(lists.directions[static_cast<size_t>(d)], lists.walks[static_cast<size_t>(d)]);
    for (int64_t d = 0; d < s.directions; ++d) {
      for (int64_t b = 0; b < s.batch; ++b) {
        const Direction& one = directions[static_cast<size_t>(d)];
        for (size_t k = 1; k < at.out.size(); ++k) {
          auto* out = static_cast<float*>(at.out[k]);
          if (out != nullptr)
            std::copy_n((k == 1 ? one.h : one.c) + b * n, n, out + state_at(d, b));
        }
      }
    }
  }
};

}  // namespace

std::optional<Prepared> prepare_recurrent(const OpCall& call, std::span<const Operand> in,
                                          std::span<const Spec> out) {
  const auto present = [&](size_t i) { return in.size() > i && in[i].present; };
  for (size_t i : {in_x, in_w, in_r})
    if (in[i].spec.dtype != DType::f32 || in[i].spec.shape.numel() == 0) return {};
  if (in[in_w].constant == nullptr || in[in_r].constant == nullptr) return {};
  Onnx onnx{.kind = call.op->name == "lstm" ? RnnKind::lstm : RnnKind::gru,
            .s = {},
            .reverse = call.attrs.s("direction", "forward") == "reverse",
            .reset_after = call.attrs.i("linear_before_reset", 0) != 0,
            .w_piece = 0,
            .r_piece = 0};
  onnx.s = rnn_sizes(onnx.kind, call.attrs, in[in_x].spec.shape, in[in_r].spec.shape);
  const RnnSizes& s = onnx.s;
  if (present(in_peepholes) || call.attrs.i("input_forget", 0) != 0 ||
      !usual_functions(call.attrs, onnx.kind, s.directions))
    return {};
  std::vector<Panels::Piece> w, r;
  for (int64_t d = 0; d < s.directions; ++d) {
    w.push_back({d * onnx.wide() * s.features, 1, s.features});
    for (int64_t g = 0; g < s.gates; ++g)
      r.push_back({(d * s.gates + g) * s.hidden * s.hidden, 1, s.hidden});
  }
  const auto w_layout = std::make_shared<Panels>(s.features, onnx.wide(), std::move(w));
  const auto r_layout = std::make_shared<Panels>(s.hidden, s.hidden, std::move(r));
  onnx.w_piece = w_layout->piece_size();
  onnx.r_piece = r_layout->piece_size();
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.in[in_w] = w_layout;
  p.in[in_r] = r_layout;
  p.out.assign(out.size(), nullptr);
  p.scratch = static_cast<size_t>(s.directions * onnx.per_direction()) * sizeof(float);
  p.how = "panels";
  p.bind = [onnx](const Places& at) -> Step {
    return [onnx, at, lists = std::make_shared<Onnx::Lists>()] { onnx.run(at, *lists); };
  };
  return p;
}

/// Fluid's layer over sequences whose input is projected already.
std::optional<Prepared> prepare_fluid_gru(const OpCall& call, std::span<const Operand> in,
                                          std::span<const Spec> out) {
  if (in[0].spec.dtype != DType::f32 || in[0].spec.shape.numel() == 0 || in[1].constant == nullptr)
    return {};
  const int64_t n = out[0].shape[1];
  const int64_t rows = out[0].shape[0];
  const int64_t batch = in[4].spec.shape[0] - 1;
  if (batch < 1) return {};
  const bool reverse = call.attrs.i("reverse", 0) != 0;
  const bool swapped = call.attrs.i("origin_mode", 0) == 0;
  const auto layout = std::make_shared<Panels>(
      n, n, std::vector<Panels::Piece>{{0, 2 * n, 1}, {n, 2 * n, 1}, {2 * n * n, n, 1}});
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.in[1] = layout;
  p.out = {nullptr};
  p.scratch =
      static_cast<size_t>(rows * 3 * n + batch * n + room(RnnKind::gru, batch, n)) * sizeof(float);
  p.how = "panels";
  p.bind = [=, piece = layout->piece_size()](const Places& at) -> Step {
    return [=, kept = std::make_shared<std::vector<Sequence>>()] {
      const auto offsets =
          checked_offsets(Tensor(DType::i64, {batch + 1}, nullptr, at.in[4]), rows);
      std::vector<Sequence>& sequences = *kept;
      sequences.clear();
      for (int64_t b = 0; b < batch; ++b) {
        const auto i = static_cast<size_t>(b);
        const int64_t from = offsets[i], length = offsets[i + 1] - from;
        const Walk walk = reverse ? Walk{from + length - 1, -1} : Walk{from, 1};
        sequences.push_back({b, length, walk, walk});
      }
      sort_longest_first(sequences);
      auto* projected = static_cast<float*>(at.scratch);
      std::copy_n(static_cast<const float*>(at.in[0]), rows * 3 * n, projected);
      for (int64_t r = 0; at.in[2] != nullptr && r < rows; ++r)
        add_row(projected + r * 3 * n, static_cast<const float*>(at.in[2]), 3 * n);
      Direction d;
      d.kind = RnnKind::gru;
      d.hidden = n;
      d.projected = projected;
      for (int64_t g = 0; g < 3; ++g)
        d.weights[g] = static_cast<const float*>(at.in[1]) + g * piece;
      d.swapped = swapped;
      d.y = static_cast<float*>(at.out[0]);
      d.h = projected + rows * 3 * n;
      d.state = d.h + batch * n;
      if (at.in[3] != nullptr)
        std::copy_n(static_cast<const float*>(at.in[3]), batch * n, d.h);
      else
        std::fill_n(d.h, batch * n, 0.0F);
      run_direction(d, sequences);
    };
  };
  return p;
}

}  // namespace hub::onednn
