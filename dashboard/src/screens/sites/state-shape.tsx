import type { PortfolioDomain } from '../../api/types.ts'
import classes from './state-shape.module.css'

export type SiteState = PortfolioDomain['state']

/** What screen readers say of the shape. */
const WORDS: Record<SiteState, string> = {
  trouble: 'In trouble',
  warning: 'Warning',
  setup: 'To set up',
  paused: 'Paused',
  ok: 'Fine',
}

/** What a state says to people who look at a site and change nothing, if no cause is known. */
export const STATE_SENTENCES: Record<SiteState, string> = {
  trouble: 'Something is wrong.',
  warning: 'Needs attention.',
  setup: 'Is being set up.',
  paused: 'Paused: crawlers get the site itself.',
  ok: 'Nothing wrong.',
}

/** Every state has a shape of its own, besides its colour. */
export function StateShape({ state }: { state: SiteState }) {
  return (
    <svg
      className={classes.shape}
      data-state={state}
      viewBox="0 0 16 16"
      width="16"
      height="16"
      role="img"
      aria-label={WORDS[state]}
    >
      <title>{WORDS[state]}</title>
      <Shape state={state} />
    </svg>
  )
}

function Shape({ state }: { state: SiteState }) {
  switch (state) {
    case 'trouble':
      return <path d="M8 1.5 15 14H1Z" />
    case 'warning':
      return (
        <>
          <circle cx="8" cy="8" r="5" className={classes.outline} />
          <path d="M8 3a5 5 0 0 1 0 10Z" />
        </>
      )
    case 'setup':
      return <circle cx="8" cy="8" r="5" className={classes.outline} />
    case 'paused':
      return <path d="M3 6.5h10v3H3Z" />
    case 'ok':
      return <circle cx="8" cy="8" r="3.5" />
  }
}
