// Reviews into their stars: a table with the columns review and stars.
#include <hub/hub.h>

#include <iostream>

int main() {
  auto base = hub::load("minilm-l6");
  auto data = hub::read_table("reviews.csv", {.text = "review", .label = "stars"});
  hub::Tuner tuner(base, {.task = "text-classification"});
  tuner.fit(data.train, {.epochs = 3, .strategy = "head"});
  std::cout << tuner.evaluate(data.test) << '\n';
  tuner.save("my-reviews@1.0.0");
}
