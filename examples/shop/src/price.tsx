const EUROS = new Intl.NumberFormat('en-IE', { style: 'currency', currency: 'EUR' })

export function Price({ cents }: { cents: number }) {
  return <span className="price">{EUROS.format(cents / 100)}</span>
}
