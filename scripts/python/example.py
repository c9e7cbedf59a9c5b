"""A tour in cells, for a notebook (Jupyter and VS Code read the marks) or in one go: python3 example.py"""

# %% Train a small model for a few seconds. In a notebook, `run` as a cell's last line shows its curves.
import chargpt

run = chargpt.train("quick", text="data/sample.txt", max_seconds=4, run="runs/example", overwrite=True)
print(run.metrics)

# %% Write, piece by piece.
model = run.load()
print("The ", end="")
for piece in model.generate("The ", tokens=120, temperature=0.7):
    print(piece, end="", flush=True)
print()

# %% Where does a text surprise the model? One loss for each character from the second on, in nats.
text = "The river was low that year."
losses = model.score(text)
print(f"{losses.mean():.2f} nats a character; most surprising: {text[1 + losses.argmax()]!r}")

# %% What does it expect next? Logits (T, V): a row for each character of the prompt.
logits = model.logits("The riv")[-1]
print("after 'The riv':", [model.decode([one]) for one in (-logits).argsort()[:5].tolist()])

# %% Which learning rate? Two seeds of each, on the same windows.
print(chargpt.compare("quick", vary={"train.learning_rate": [1e-3, 4e-3]}, text="data/sample.txt", seeds=2, max_iters=60, out="runs/rates"))
