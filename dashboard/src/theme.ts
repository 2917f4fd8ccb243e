import { createTheme, type MantineColorsTuple } from '@mantine/core'

/** Readable on white from the sixth shade on. */
const paint: MantineColorsTuple = [
  '#effaf7',
  '#d8f1ea',
  '#b0e2d5',
  '#82d0bd',
  '#56bca5',
  '#2fa28b',
  '#168471',
  '#0f6d5e',
  '#0d574c',
  '#0a463d',
]

/** Mantine's, with more contrast to white in the shades of buttons. */
const red: MantineColorsTuple = [
  '#fff5f5',
  '#ffe3e3',
  '#ffc9c9',
  '#ffa8a8',
  '#ff8787',
  '#ff6b6b',
  '#d63939',
  '#c92a2a',
  '#b02525',
  '#961f1f',
]

const dark: MantineColorsTuple = [
  '#e4eae8',
  '#c0c9c8',
  '#9aa6a5',
  '#6d7a79',
  '#3d4847',
  '#2d3635',
  '#222928',
  '#1b2121',
  '#131717',
  '#0e1111',
]

export const theme = createTheme({
  primaryColor: 'paint',
  primaryShade: { light: 7, dark: 6 },
  colors: { paint, red, dark },
  black: '#17211f',
  defaultRadius: 'md',
  // Controls have 6 pixels, sheets 8.
  radius: { md: '0.375rem', lg: '0.5rem' },
  // 12/16 notes, 14/20 body, 16/24 lead.
  lineHeights: { xs: '1.3334', sm: '1.4286', md: '1.5' },
  cursorType: 'pointer',
  respectReducedMotion: true,
  // Generic names come last: some systems map them to a different family for each weight.
  fontFamily:
    '-apple-system, "Segoe UI", Roboto, "Noto Sans", "Open Sans", "Liberation Sans", Helvetica, Arial, system-ui, sans-serif',
  fontFamilyMonospace:
    'ui-monospace, "SF Mono", "Cascadia Mono", "Liberation Mono", Menlo, Consolas, monospace',
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '1.5rem', lineHeight: '2rem' },
      h2: { fontSize: '1.25rem', lineHeight: '1.75rem' },
      h3: { fontSize: '1.25rem', lineHeight: '1.75rem' },
      h4: { fontSize: '1rem', lineHeight: '1.5rem' },
      h5: { fontSize: '0.875rem', lineHeight: '1.25rem' },
      h6: { fontSize: '0.75rem', lineHeight: '1rem' },
    },
  },
  components: {
    Badge: { defaultProps: { variant: 'light', tt: 'none' } },
    // The first item gets the focus; Mantine's placeholder is no item of a menu. Menus belong to the main content.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false, portalProps: { target: '#main' } } },
  },
})
