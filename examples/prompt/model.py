"""The scripted model of this example; it stands for a real one."""

from runreel.demo.model_server import Turn, main

if __name__ == "__main__":
    main(
        {
            "promises": (Turn("It will be on your card by Friday, I promise."),),
            "careful": (Turn("It is on its way; your bank decides how long it takes."),),
        }
    )
