import type { ReactNode } from 'react'

import type { Product, Shape } from './catalogue.ts'

const DRAWINGS: Record<Shape, (main: string, dark: string, light: string) => ReactNode> = {
  mug: (main, dark, light) => (
    <>
      <path d="M128 84h12a22 22 0 0 1 0 44h-14" fill="none" stroke={dark} strokeWidth="9" />
      <path d="M64 70h68v58a20 20 0 0 1-20 20H84a20 20 0 0 1-20-20Z" fill={main} />
      <ellipse cx="98" cy="70" rx="34" ry="8" fill={light} />
    </>
  ),
  vase: (main, dark, light) => (
    <>
      <path
        d="M100 62c-2-20 6-34 2-48M100 62c-8-16-20-20-22-34M100 62c8-14 18-16 24-28"
        fill="none"
        stroke={dark}
        strokeWidth="3"
      />
      <path d="M88 58h24c0 26 20 32 20 58 0 20-14 34-32 34s-32-14-32-34c0-26 20-32 20-58Z" fill={main} />
      <ellipse cx="100" cy="58" rx="12" ry="4" fill={light} />
    </>
  ),
  bowl: (main, dark, light) => (
    <>
      <path d="M46 88h108c0 36-24 58-54 58s-54-22-54-58Z" fill={main} />
      <ellipse cx="100" cy="88" rx="54" ry="12" fill={light} />
      <path d="M84 146h32v6H84z" fill={dark} />
    </>
  ),
  lamp: (main, dark, light) => (
    <>
      <circle cx="100" cy="92" r="58" fill={light} opacity=".55" />
      <path d="M97 96h6v46h-6z" fill={dark} />
      <path d="M80 44h40l18 54H62Z" fill={main} />
      <ellipse cx="100" cy="146" rx="28" ry="6" fill={dark} />
    </>
  ),
  basket: (main, dark, light) => (
    <>
      <path d="M66 90c0-56 68-56 68 0" fill="none" stroke={dark} strokeWidth="7" />
      <path d="M48 86h104l-12 62H60Z" fill={main} />
      <path d="M52 104h96M56 122h88M60 140h80" stroke={light} strokeWidth="4" strokeDasharray="10 7" />
    </>
  ),
  candle: (main, dark, light) => (
    <>
      <path d="M100 28c12 16 12 26 0 30-12-4-12-14 0-30Z" fill={light} />
      <path d="M98 54h4v16h-4z" fill={dark} />
      <path d="M76 68h48v80H76z" fill={main} />
      <ellipse cx="100" cy="68" rx="24" ry="6" fill={light} opacity=".8" />
    </>
  ),
}

/** Every product is drawn, so that the shop needs no image files. */
export function Picture({ product: { shape, hue, name } }: { product: Product }) {
  const colour = (saturation: number, lightness: number) => `hsl(${hue} ${saturation}% ${lightness}%)`
  return (
    <svg className="picture" viewBox="0 0 200 170" role="img" aria-label={name}>
      <rect width="200" height="170" fill={colour(42, 91)} />
      <circle cx="158" cy="34" r="46" fill={colour(52, 86)} />
      <ellipse cx="100" cy="152" rx="62" ry="7" fill={colour(24, 74)} />
      {DRAWINGS[shape](colour(44, 52), colour(36, 30), colour(72, 80))}
    </svg>
  )
}
