// Pictures into classes: a folder with a folder of pictures for each class.
#include <hub/hub.h>

#include <iostream>

int main() {
  auto base = hub::load("efficientnet-lite0");
  auto data = hub::read_data("pictures");
  hub::Tuner tuner(base, {.task = "image-classification"});
  tuner.fit(data, {.epochs = 3, .strategy = "head"});
  std::cout << tuner.evaluate(data.test) << '\n';
  tuner.save("my-pictures@1.0.0");
}
