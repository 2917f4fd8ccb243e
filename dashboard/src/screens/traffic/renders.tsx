import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { csvUrl, monthOfRendersQuery } from '../../api/traffic-queries.ts'
import { RANGES } from '../../api/traffic-range.ts'
import type { MonthOfRenders } from '../../api/types.ts'
import { Chart } from '../../charts/chart.tsx'
import { short, stepName } from '../../format.ts'
import { Section } from '../../parts/page.tsx'
import { Loading, Trouble } from '../../parts/states.tsx'
import { count, counted } from '../../parts/usage-bar.tsx'
import { CsvButton } from './head.tsx'
import { limitMarks, monthOfRenders } from './series.ts'

/** The renders of the month that runs, against the quota, and what they come to. */
export function TrafficRenders({ domain }: { domain: string }) {
  const month = useQuery(monthOfRendersQuery(domain))
  return (
    <Section
      title="Renders this month"
      lead="Added up day by day, in UTC."
      actions={<CsvButton href={csvUrl(domain, '/renders', RANGES[0])} label="Download the renders as CSV" />}
    >
      {month.data !== undefined ? (
        <Month month={month.data} />
      ) : month.error === null ? (
        <Loading rows={4} />
      ) : (
        <Trouble error={month.error} onRetry={() => month.refetch()} />
      )}
    </Section>
  )
}

function Month({ month }: { month: MonthOfRenders }) {
  const { times, series } = monthOfRenders(month)
  return (
    <>
      <Text size="sm">{outlook(month)}</Text>
      <Chart
        label="Renders of the month"
        times={times}
        step="day"
        kind="bars"
        series={series}
        format={count}
        formatShort={short}
        marks={limitMarks(month)}
      />
      <Text size="xs" className="quiet">
        The forecast: renders until now, and for each day that is left the median of the last seven whole
        days.
      </Text>
    </>
  )
}

/** In a sentence; what needs doing comes first. */
function outlook({ used, limit, forecast }: MonthOfRenders): string {
  const soFar = `${count(used)} of ${counted(limit, 'render')} are used.`
  if (used >= limit) return `The limit is reached. ${soFar} At 120% nothing more is rendered this month.`
  if (forecast === null) return `${soFar} A forecast takes one whole day of counting.`
  const { renders, per_day, reaches_limit_on } = forecast
  const pace = `At ${counted(Math.round(per_day), 'render')} a day the month comes to ${count(renders)}`
  if (reaches_limit_on === null) return `${soFar} ${pace}, within the limit.`
  return `${soFar} ${pace}: the limit is reached on ${stepName(`${reaches_limit_on}T00:00:00Z`, 'day')}.`
}
