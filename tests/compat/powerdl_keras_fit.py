"""Keras: fit with a validation set and callbacks, then infer_keras."""

import numpy as np
import tensorflow as tf
from powerdl.highlevel import profile_tf
from tensorflow import keras

rng = np.random.default_rng(0)
x = rng.normal(size=(120, 8, 8, 1)).astype("float32")
y = rng.integers(0, 4, size=120)
train = tf.data.Dataset.from_tensor_slices((x, y)).batch(40)
model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        keras.layers.Conv2D(4, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(4, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])

seen = []
with profile_tf(out_dir="tf", interval_s=0.01, verbose=0) as prof:
    history = prof.fit(
        model,
        train,
        epochs=2,
        verbose=0,
        validation_data=(x[:20], y[:20]),
        callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=lambda e, logs: seen.append(e))],
    )
    result = prof.infer_keras(model, x, batch_size=50, warmup_n=60)
    report = prof.report()

assert len(history.history["loss"]) == 2 and seen == [0, 1]
assert set(result) >= {
    "infer_energy_j",
    "infer_time_s",
    "infer_avg_power_w",
    "infer_j_per_sample",
    "infer_throughput_img_s",
    "infer_avg_gpu_util",
    "infer_avg_mem_util",
}
assert abs(result["infer_j_per_sample"] * len(x) - result["infer_energy_j"]) < 0.01 * result["infer_energy_j"]
assert abs(result["infer_throughput_img_s"] * result["infer_time_s"] - len(x)) < 0.5
s = report.summary
assert len(s["epoch_energies"]) == 2 and len(s["batch_rows"]) == 6 and s["train_energy_j"] > 0
assert [r["batch_size"] for r in s["batch_rows"]][:3] == [40, 40, 40]
names = list(report.marks_df["name"])
assert names.count("batch_end") == 6 and names.count("epoch_end") == 2 and "infer_end" in names
report.export("tf_export", include_figures=False)
