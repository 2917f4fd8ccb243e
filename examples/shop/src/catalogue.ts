/** What the shop sells. The API serves it; the pages only know its shapes. */
export type Shape = 'mug' | 'vase' | 'bowl' | 'lamp' | 'basket' | 'candle'

export type Product = {
  slug: string
  name: string
  shape: Shape
  /** Degrees on the colour wheel; the picture is drawn with it. */
  hue: number
  priceCents: number
  maker: string
  summary: string
  details: readonly string[]
}

export type Stock = { slug: string; left: number }

export type Review = { author: string; stars: 1 | 2 | 3 | 4 | 5; text: string }

export const PRODUCTS: readonly Product[] = [
  {
    slug: 'morning-mug',
    name: 'Morning mug',
    shape: 'mug',
    hue: 28,
    priceCents: 2_400,
    maker: 'Ida Brandt, Aarhus',
    summary: 'A heavy stoneware mug that keeps coffee warm through the first three mails.',
    details: ['Stoneware, 320 ml', 'Glazed inside, raw outside', 'Dishwasher safe'],
  },
  {
    slug: 'tall-vase',
    name: 'Tall vase',
    shape: 'vase',
    hue: 158,
    priceCents: 6_900,
    maker: 'Studio Lindqvist, Malmö',
    summary: 'Slim at the neck, so that three branches are already a bouquet.',
    details: ['Hand-thrown porcelain', '34 cm high', 'Waterproof'],
  },
  {
    slug: 'river-bowl',
    name: 'River bowl',
    shape: 'bowl',
    hue: 205,
    priceCents: 4_800,
    maker: 'Ida Brandt, Aarhus',
    summary: 'Wide and shallow, with a glaze that runs like water over pebbles.',
    details: ['Stoneware, 28 cm across', 'Food safe', 'Each glaze is different'],
  },
  {
    slug: 'evening-lamp',
    name: 'Evening lamp',
    shape: 'lamp',
    hue: 44,
    priceCents: 12_900,
    maker: 'Werk 9, Leipzig',
    summary: 'A linen shade on turned ash: light for the second half of the book.',
    details: ['Ash and linen', '41 cm high', 'E27, LED included'],
  },
  {
    slug: 'market-basket',
    name: 'Market basket',
    shape: 'basket',
    hue: 34,
    priceCents: 5_600,
    maker: 'Cestaria Alves, Alcobaça',
    summary: 'Woven willow with leather handles. Carries leeks without bending them.',
    details: ['Willow, vegetable-tanned leather', '38 × 26 cm', 'Holds 12 kg'],
  },
  {
    slug: 'beeswax-candle',
    name: 'Beeswax candle',
    shape: 'candle',
    hue: 48,
    priceCents: 1_900,
    maker: 'Hof Auental, Tyrol',
    summary: 'Pure beeswax. Smells of honey and burns for a whole winter evening.',
    details: ['100 % beeswax', 'Burns for 45 hours', 'Cotton wick'],
  },
  {
    slug: 'forest-mug',
    name: 'Forest mug',
    shape: 'mug',
    hue: 140,
    priceCents: 2_600,
    maker: 'Ida Brandt, Aarhus',
    summary: 'The morning mug in a moss glaze that took forty tries.',
    details: ['Stoneware, 320 ml', 'Ash glaze', 'Dishwasher safe'],
  },
  {
    slug: 'salt-bowl',
    name: 'Salt bowl',
    shape: 'bowl',
    hue: 12,
    priceCents: 1_700,
    maker: 'Studio Lindqvist, Malmö',
    summary: 'Small enough for the table, deep enough for three fingers.',
    details: ['Porcelain, 9 cm across', 'Unglazed rim', 'Food safe'],
  },
  {
    slug: 'reading-lamp',
    name: 'Reading lamp',
    shape: 'lamp',
    hue: 268,
    priceCents: 14_500,
    maker: 'Werk 9, Leipzig',
    summary: 'Bends where you look and stays there.',
    details: ['Powder-coated steel', '52 cm high', 'Dimmable, 2,700 K'],
  },
  {
    slug: 'round-vase',
    name: 'Round vase',
    shape: 'vase',
    hue: 332,
    priceCents: 5_200,
    maker: 'Studio Lindqvist, Malmö',
    summary: 'For one peony, or for standing empty in the sun.',
    details: ['Hand-thrown porcelain', '18 cm high', 'Waterproof'],
  },
  {
    slug: 'bread-basket',
    name: 'Bread basket',
    shape: 'basket',
    hue: 22,
    priceCents: 3_200,
    maker: 'Cestaria Alves, Alcobaça',
    summary: 'Low, oval, and lined with the linen that bread likes.',
    details: ['Willow and linen', '30 × 20 cm', 'Lining washes at 60 °C'],
  },
  {
    slug: 'pillar-candle',
    name: 'Pillar candle',
    shape: 'candle',
    hue: 190,
    priceCents: 2_200,
    maker: 'Hof Auental, Tyrol',
    summary: 'Coloured to the core and steady in a draught.',
    details: ['Rapeseed wax', 'Burns for 60 hours', 'Cotton wick'],
  },
]

/** The same for everybody, so that a render can be compared with what the API says. */
export function stockOf(slug: string): Stock {
  return { slug, left: ([...slug].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0) % 9) + 1 }
}

export function reviewsOf(slug: string): Review[] {
  const { left } = stockOf(slug)
  return [
    {
      author: 'Marit',
      stars: 5,
      text: 'Better in the hand than on the picture. It is used every single day.',
    },
    {
      author: 'Jonas',
      stars: left > 4 ? 5 : 4,
      text: 'Came well packed and with a note from the maker.',
    },
  ]
}
