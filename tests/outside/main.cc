#include <hub/hub.h>

#include <iostream>

int main() {
  auto base = hub::load("minilm-l6");  // installs it on first use
  auto data = hub::read_table("reviews.csv", {.text = "review", .label = "stars"});
  hub::Tuner tuner(base, {.task = "text-classification"});
  tuner.fit(data.train, {.epochs = 3});
  std::cout << tuner.evaluate(data.test) << '\n';
  tuner.save("my-reviews@1.0.0");  // an ordinary module
}
