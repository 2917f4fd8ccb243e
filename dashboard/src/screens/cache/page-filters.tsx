import { NativeSelect } from '@mantine/core'
import type { PageConditions, PageFilterName } from '../../api/queries.ts'
import type { PageList } from '../../api/types.ts'
import { DEVICE_LABELS } from '../../devices.ts'
import { count } from '../../format.ts'
import { FAILED_OUTCOMES, shortOutcome } from '../../parts/badges.tsx'
import classes from './cache.module.css'

type Counts = PageList['counts'] | undefined
type Option = { value: string; label: string }

const FRESHNESS_NAMES = { fresh: 'Fresh', stale: 'Stale', kept: 'Kept', gone: 'Gone' } as const

/** Fields that limit the list, each value with the number of pages that it finds beside the other fields. */
export function PageFilters(props: {
  filter: PageConditions
  counts: Counts
  onChange: (change: Partial<PageConditions>) => void
}) {
  const { filter, counts, onChange } = props
  const isOfPhones = (counts?.variant['mobile'] ?? 0) > 0 || filter.variant !== ''
  const field = (name: PageFilterName, label: string, options: readonly Option[]) => (
    <NativeSelect
      label={label}
      value={filter[name] ?? ''}
      onChange={(event) => onChange({ [name]: event.currentTarget.value })}
      data={withChosen(options, filter[name] ?? '')}
    />
  )
  return (
    <div className={classes.filters}>
      {field('status', 'Status', statusOptions(counts))}
      {field('freshness', 'Freshness', freshnessOptions(counts))}
      {field('outcome', 'Last render', outcomeOptions(counts))}
      {field('unvisited', 'Crawlers', visitOptions(counts))}
      {isOfPhones && field('variant', 'Stored for', deviceOptions(counts))}
    </div>
  )
}

/** Several values may come in a link. */
function withChosen(options: readonly Option[], value: string): Option[] {
  const isKnown = options.some((option) => option.value === value)
  return isKnown ? [...options] : [...options, { value, label: value.replaceAll(',', ', ') }]
}

function option(value: string, label: string, pages: number | undefined): Option {
  return { value, label: pages === undefined ? label : `${label} (${count(pages)})` }
}

function sum(counts: Record<string, number>, values: readonly string[]): number {
  return values.reduce((total, value) => total + (counts[value] ?? 0), 0)
}

function statusOptions(counts: Counts): Option[] {
  const found = Object.entries(counts?.status ?? {})
  return [{ value: '', label: 'Any' }, ...found.map(([status, pages]) => option(status, status, pages))]
}

function freshnessOptions(counts: Counts): Option[] {
  const options = Object.entries(FRESHNESS_NAMES).map(([value, label]) =>
    option(value, label, counts ? (counts.freshness[value] ?? 0) : undefined),
  )
  return [{ value: '', label: 'Any' }, ...options]
}

function outcomeOptions(counts: Counts): Option[] {
  const failed = option(
    FAILED_OUTCOMES.join(),
    'Failed',
    counts ? sum(counts.outcome, FAILED_OUTCOMES) : undefined,
  )
  const found = Object.entries(counts?.outcome ?? {}).sort(([, one], [, other]) => other - one)
  return [
    { value: '', label: 'Any' },
    failed,
    ...found.map(([outcome, pages]) => option(outcome, shortOutcome(outcome), pages)),
  ]
}

function visitOptions(counts: Counts): Option[] {
  return [
    { value: '', label: 'Any' },
    option('true', 'No visit in 30 days', counts?.unvisited.true),
    option('false', 'Visited in 30 days', counts?.unvisited.false),
  ]
}

function deviceOptions(counts: Counts): Option[] {
  const options = Object.entries(DEVICE_LABELS).map(([value, label]) =>
    option(value, label, counts ? (counts.variant[value] ?? 0) : undefined),
  )
  return [{ value: '', label: 'Any' }, ...options]
}
