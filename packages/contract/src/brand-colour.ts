/** `#rrggbb`, in lower case. */
export const BRAND_COLOUR = /^#[0-9a-f]{6}$/

/** WCAG 2.2, success criterion 1.4.3: of text to its ground. */
const LEAST_CONTRAST = 4.5
/** A button stands out of its sheet. */
const LEAST_OF_BUTTON = 1.5

/** The darkest ground of links in the light scheme, and the lightest one in the dark scheme. */
const GROUNDS = { light: '#f1f3f5', dark: '#2d3635' } as const
const DARK_SHEET = '#181d1d'
const WHITE = '#ffffff'

/** `text`: of links. `fill`: of buttons, whose label is white. */
type BrandShades = Record<'light' | 'dark', { text: string; fill: string }>

/**
 * The shades of an account's colour that can be read: the nearest ones, of the same hue, with a contrast of 4.5 to 1. A colour
 * that has it stays as it is.
 */
export function brandShades(colour: string): BrandShades {
  const text = nearest(colour, (shade) => contrast(shade, GROUNDS.light) >= LEAST_CONTRAST)
  return {
    light: { text, fill: text },
    dark: {
      text: nearest(colour, (shade) => contrast(shade, GROUNDS.dark) >= LEAST_CONTRAST),
      fill: nearest(
        colour,
        (shade) => contrast(shade, WHITE) >= LEAST_CONTRAST && contrast(shade, DARK_SHEET) >= LEAST_OF_BUTTON,
      ),
    },
  }
}

/** The contrast of two colours, 1 to 21 (WCAG 2.2). */
export function contrast(one: string, other: string): number {
  const lights = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (lights[0]! + 0.05) / (lights[1]! + 0.05)
}

const STEPS = 400

/** Goes from the colour's own lightness to both ends at once. Some shade always fits: grounds are near white or black. */
function nearest(colour: string, isFit: (shade: string) => boolean): string {
  if (isFit(colour)) return colour
  const { hue, saturation, lightness } = hslOf(colour)
  for (let step = 1; step <= STEPS; step++) {
    for (const light of [lightness - step / STEPS, lightness + step / STEPS]) {
      if (light < 0 || light > 1) continue
      const shade = hexOf(hue, saturation, light)
      if (isFit(shade)) return shade
    }
  }
  return colour
}

function channelsOf(colour: string): [red: number, green: number, blue: number] {
  const value = Number.parseInt(colour.slice(1), 16)
  return [(value >> 16) / 255, ((value >> 8) & 255) / 255, (value & 255) / 255]
}

function luminance(colour: string): number {
  const [red, green, blue] = channelsOf(colour).map((channel) =>
    channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4,
  ) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function hslOf(colour: string): { hue: number; saturation: number; lightness: number } {
  const [red, green, blue] = channelsOf(colour)
  const most = Math.max(red, green, blue)
  const range = most - Math.min(red, green, blue)
  const lightness = most - range / 2
  if (range === 0) return { hue: 0, saturation: 0, lightness }
  const saturation = range / (1 - Math.abs(2 * lightness - 1))
  let hue: number
  if (most === red) hue = ((green - blue) / range + 6) % 6
  else if (most === green) hue = (blue - red) / range + 2
  else hue = (red - green) / range + 4
  return { hue: hue * 60, saturation, lightness }
}

function hexOf(hue: number, saturation: number, lightness: number): string {
  const reach = saturation * Math.min(lightness, 1 - lightness)
  const channel = (offset: number) => {
    const place = (offset + hue / 30) % 12
    const value = lightness - reach * Math.max(-1, Math.min(place - 3, 9 - place, 1))
    return Math.round(value * 255)
      .toString(16)
      .padStart(2, '0')
  }
  return `#${channel(0)}${channel(8)}${channel(4)}`
}
