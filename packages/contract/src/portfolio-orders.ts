// Without schemas: the first screen of the dashboard loads it.

/** The worst first. Of several, the worst that applies. */
export const PORTFOLIO_STATES = ['trouble', 'warning', 'setup', 'paused', 'ok'] as const

/** A minus before it turns the order. */
export const PORTFOLIO_ORDERS = [
  'attention',
  'name',
  'visits',
  'hit_ratio',
  'renders',
  'last_crawler',
] as const

type Order = (typeof PORTFOLIO_ORDERS)[number]

export type PortfolioSort = Order | `-${Order}`
