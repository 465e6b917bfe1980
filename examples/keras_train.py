"""Joules of a training with Keras, any backend: a callback records phases, epochs, steps; History has the joules.

joulemap record -o keras.joulemap -- python examples/keras_train.py
joulemap report keras.joulemap --by phase
"""

from __future__ import annotations

import joulemap.keras
import keras
import numpy as np


def main() -> None:
    model = keras.Sequential(
        [keras.Input((512,)), keras.layers.Dense(2048, activation="gelu"), keras.layers.Dense(10)],
    )
    model.compile("adamw", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x, y = np.random.randn(20000, 512).astype("float32"), np.random.randint(0, 10, 20000)
    energy = joulemap.keras.EnergyCallback()
    history = model.fit(x, y, batch_size=256, epochs=2, validation_split=0.1, callbacks=[energy], verbose=0)
    print(history.history["energy_j"], history.history["val_energy_j"])
    print(energy.report("phase").table())


if __name__ == "__main__":
    main()
