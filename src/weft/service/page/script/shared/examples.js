/** Texts to try; all are written for this page. */

export const EXAMPLES = [
  {
    name: "Sound essay",
    text: `Bread begins with a mixture that looks like nothing much. Flour, water and a little salt are stirred together until no dry flour is left. This rough dough is then left alone for half an hour, so that the flour can drink up the water. During that rest, the proteins in the flour link up into long, stretchy strands. These strands are what will later hold the bubbles of gas.

The gas comes from yeast. Yeast cells feed on the sugars in the flour and give off carbon dioxide. Because the dough is elastic, the gas cannot escape, and the dough slowly rises. A warm kitchen makes the yeast work faster, while a cold one slows it down. Many bakers choose the cold on purpose, because a slow rise gives the bread more flavour.

In the oven, everything happens quickly. The heat makes the bubbles swell one last time before it sets the dough around them. At the surface, sugars turn brown and form the crust. The loaf is done when it sounds hollow. It should still cool for an hour before anybody cuts it.`,
  },
  {
    name: "Essay with an intruder",
    text: `Our town library moved into the old railway station three years ago. The ticket hall became the reading room, and its high windows let in light until late in the evening. Children’s books now stand where the luggage used to be stored. The platform outside is covered, so people read there even when it rains.

The move has changed who comes. Before, most visitors were pensioners who read the newspapers in the morning. Now pupils fill the tables after school, because the bus stops right at the door. The librarians have learned to put up with more noise. The enzyme binds to the protein and cuts it into smaller parts. Most of them say that they would not go back.`,
  },
  {
    name: "Shuffled how-to",
    text: `Spread a thin layer of glue over the rough spot and wait five minutes. Once the wheel is off, lever the tyre over the rim and pull out the inner tube. When the glue is nearly dry, press the patch on firmly for a minute. Blow some air into the tube and hold it under water to find the hole. First, turn the bicycle upside down and take the wheel off. Mark the hole with chalk, let the air out and roughen the rubber around it. Pump up the tyre to the pressure that is printed on its side. Push the tube back under the tyre and make sure that it is not twisted.`,
  },
  {
    name: "Repetitive answer",
    text: `Sleep is important for your health. Getting enough sleep is important for your health and well-being. Sleep is important for your health because it helps your body. It is important to get enough sleep for your health. Good sleep is important for your health and well-being. In conclusion, sleep is important for your health.`,
  },
  {
    name: "Transcript",
    text: `INTERVIEWER: How did you start keeping bees?
ANNA: My neighbour gave me a hive when he moved away. I knew nothing about them at first.
INTERVIEWER: What was the first summer like?
ANNA: I was stung a lot, because I moved too fast. Then an old beekeeper showed me how to use smoke. After that they were calm, and so was I.
INTERVIEWER: How much honey do you get?
ANNA: About thirty jars a year. We keep ten and give the rest away.`,
  },
  {
    name: "Two texts in one",
    text: `Mira had promised to bring the cake, so she got up at five. She weighed the sugar, broke the eggs and lit the oven. By seven the cake stood on the sill, and the kitchen smelled of oranges. When she turned round, the sill was empty. Tides rise and fall twice a day along most coasts. The moon pulls at the water that is nearest to it, and a bulge of water forms there. A second bulge forms on the far side of the earth. As the earth turns, every coast passes through both of them.`,
  },
];

/** Two versions of a text, for the comparison. */
export const VERSIONS = [
  `The lighthouse was built in 1886. Its keeper lived there with his family. The lamp was changed to electric light in 1931. Every evening he climbed the stairs and lit the oil lamp. Since 1978 it works without a keeper. The family grew potatoes behind the tower.`,
  `The lighthouse was built in 1886. Its keeper lived there with his family, who grew potatoes behind the tower. Every evening he climbed the stairs and lit the oil lamp. The lamp was changed to electric light in 1931. Since 1978 it has worked without a keeper.`,
];
