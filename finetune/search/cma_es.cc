// CMA-ES, in the notation of Hansen's tutorial (arXiv:1604.00772): mean m, step sigma, covariance C
// = B D² Bᵀ, evolution paths p_c and p_sigma.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "finetune/search/normal.h"
#include "finetune/search/search.h"

namespace hub {
namespace {

using Matrix = std::vector<Point>;

Matrix unit_matrix(size_t n) {
  Matrix m(n, Point(n, 0.0));
  for (size_t i = 0; i < n; ++i) m[i][i] = 1;
  return m;
}

/// Eigenvalues of a symmetric matrix by Jacobi's rotations; the columns of `vectors` become the
/// eigenvectors.
Point eigen(Matrix a, Matrix& vectors) {
  const size_t n = a.size();
  vectors = unit_matrix(n);
  for (int sweep = 0; sweep < 50; ++sweep) {
    double off = 0, scale = 0;
    for (size_t i = 0; i < n; ++i) {
      scale += a[i][i] * a[i][i];
      for (size_t j = i + 1; j < n; ++j) off += a[i][j] * a[i][j];
    }
    if (off <= 1e-30 * scale) break;
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) {
        if (a[p][q] == 0) continue;
        const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const double t = std::copysign(1.0, theta) / (std::fabs(theta) + std::hypot(theta, 1.0));
        const double c = 1 / std::hypot(t, 1.0), s = t * c;
        for (size_t k = 0; k < n; ++k) {
          const double x = a[k][p], y = a[k][q];
          a[k][p] = c * x - s * y;
          a[k][q] = s * x + c * y;
        }
        for (size_t k = 0; k < n; ++k) {
          const double x = a[p][k], y = a[q][k];
          a[p][k] = c * x - s * y;
          a[q][k] = s * x + c * y;
        }
        for (size_t k = 0; k < n; ++k) {
          const double x = vectors[k][p], y = vectors[k][q];
          vectors[k][p] = c * x - s * y;
          vectors[k][q] = s * x + c * y;
        }
      }
    }
  }
  Point values(n);
  for (size_t i = 0; i < n; ++i) values[i] = a[i][i];
  return values;
}

class CmaEs final : public Search {
 public:
  CmaEs(size_t dimensions, uint64_t seed, double sigma)
      : n_(dimensions),
        sigma_(sigma),
        random_(seed, 0xc3aU),
        mean_(n_, 0.5),
        path_c_(n_, 0.0),
        path_s_(n_, 0.0),
        lengths_(n_, 1.0),
        covariance_(unit_matrix(n_)),
        axes_(unit_matrix(n_)) {
    const auto n = static_cast<double>(n_);
    lambda_ = 4 + static_cast<size_t>(3 * std::log(n));
    const size_t mu = lambda_ / 2;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < mu; ++i) {
      weights_.push_back(std::log((static_cast<double>(lambda_) + 1) / 2) -
                         std::log(static_cast<double>(i) + 1));
      sum += weights_[i];
    }
    for (double& w : weights_) {
      w /= sum;
      squares += w * w;
    }
    mu_eff_ = 1 / squares;
    c_sigma_ = (mu_eff_ + 2) / (n + mu_eff_ + 5);
    d_sigma_ = 1 + 2 * std::max(0.0, std::sqrt((mu_eff_ - 1) / (n + 1)) - 1) + c_sigma_;
    c_c_ = (4 + mu_eff_ / n) / (n + 4 + 2 * mu_eff_ / n);
    c_1_ = 2 / ((n + 1.3) * (n + 1.3) + mu_eff_);
    c_mu_ = std::min(1 - c_1_, 2 * (mu_eff_ - 2 + 1 / mu_eff_) / ((n + 2) * (n + 2) + mu_eff_));
    chi_ = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
  }

  Point ask() override {
    Point z(n_), x = mean_;
    for (double& v : z) v = normal(random_);
    for (size_t i = 0; i < n_; ++i) {
      for (size_t k = 0; k < n_; ++k) x[i] += sigma_ * axes_[i][k] * lengths_[k] * z[k];
      x[i] = reflected(x[i]);
    }
    generation_.push_back({x, 0});
    return x;
  }

  void tell(double value) override {
    generation_.back().value = value;
    if (generation_.size() < lambda_) return;
    std::stable_sort(generation_.begin(), generation_.end(),
                     [](const Sample& a, const Sample& b) { return a.value < b.value; });
    if (std::isfinite(generation_[0].value)) update();
    generation_.clear();
  }

 private:
  struct Sample {
    Point x;
    double value;
  };

  void update() {
    const Point old = mean_;
    std::fill(mean_.begin(), mean_.end(), 0.0);
    for (size_t k = 0; k < weights_.size(); ++k)
      for (size_t i = 0; i < n_; ++i) mean_[i] += weights_[k] * generation_[k].x[i];
    Point y(n_), w(n_, 0.0);  // the step of the mean, and C^(-1/2) of it
    for (size_t i = 0; i < n_; ++i) y[i] = (mean_[i] - old[i]) / sigma_;
    for (size_t k = 0; k < n_; ++k) {
      double along = 0;
      for (size_t i = 0; i < n_; ++i) along += axes_[i][k] * y[i];
      for (size_t i = 0; i < n_; ++i) w[i] += axes_[i][k] * along / lengths_[k];
    }
    ++updates_;
    double length = 0;
    for (size_t i = 0; i < n_; ++i) {
      path_s_[i] =
          (1 - c_sigma_) * path_s_[i] + std::sqrt(c_sigma_ * (2 - c_sigma_) * mu_eff_) * w[i];
      length += path_s_[i] * path_s_[i];
    }
    length = std::sqrt(length);
    const auto n = static_cast<double>(n_);
    const double settled = std::sqrt(1 - std::pow(1 - c_sigma_, 2.0 * updates_));
    const double h = length / settled < (1.4 + 2 / (n + 1)) * chi_ ? 1 : 0;
    for (size_t i = 0; i < n_; ++i)
      path_c_[i] = (1 - c_c_) * path_c_[i] + h * std::sqrt(c_c_ * (2 - c_c_) * mu_eff_) * y[i];
    const double keep = 1 - c_1_ - c_mu_ + c_1_ * (1 - h) * c_c_ * (2 - c_c_);
    for (size_t i = 0; i < n_; ++i) {
      for (size_t j = 0; j < n_; ++j) {
        double c = keep * covariance_[i][j] + c_1_ * path_c_[i] * path_c_[j];
        for (size_t k = 0; k < weights_.size(); ++k) {
          const Point& x = generation_[k].x;
          c += c_mu_ * weights_[k] * (x[i] - old[i]) * (x[j] - old[j]) / (sigma_ * sigma_);
        }
        covariance_[i][j] = c;
      }
    }
    sigma_ = std::clamp(sigma_ * std::exp(c_sigma_ / d_sigma_ * (length / chi_ - 1)), 1e-12, 1.0);
    const Point values = eigen(covariance_, axes_);
    for (size_t i = 0; i < n_; ++i) lengths_[i] = std::sqrt(std::max(values[i], 1e-20));
  }

  size_t n_, lambda_ = 0;
  double sigma_;
  Random random_;
  Point mean_, path_c_, path_s_, lengths_, weights_;
  Matrix covariance_, axes_;
  double mu_eff_ = 0, c_sigma_ = 0, d_sigma_ = 0, c_c_ = 0, c_1_ = 0, c_mu_ = 0, chi_ = 0;
  int updates_ = 0;
  std::vector<Sample> generation_;
};

}  // namespace

std::unique_ptr<Search> cma_es(size_t dimensions, uint64_t seed, double sigma) {
  return std::make_unique<CmaEs>(dimensions, seed, sigma);
}

}  // namespace hub
