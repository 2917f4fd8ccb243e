import { Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { csvUrl, trafficQuery } from '../../api/traffic-queries.ts'
import type { DomainWithSettings } from '../../api/types.ts'
import { Empty, Loading, Trouble } from '../../parts/states.tsx'
import { TrafficCharts, TrafficTiles } from './charts.tsx'
import { FirstVisit } from './first-visit.tsx'
import { TrafficHead, useRange } from './head.tsx'
import { TrafficPaths } from './paths.tsx'
import { TrafficRenders } from './renders.tsx'
import classes from './traffic.module.css'

export function DomainTraffic({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const [range, choose] = useRange()
  const traffic = useQuery(trafficQuery(name, range))
  return (
    <Stack gap="lg">
      <TrafficHead range={range} onChoose={choose} csv={csvUrl(name, '', range)} />
      {traffic.data === undefined ? (
        traffic.error === null ? (
          <Loading rows={8} />
        ) : (
          <Trouble error={traffic.error} onRetry={() => traffic.refetch()} />
        )
      ) : (
        <Stack gap="lg" className={traffic.isPlaceholderData ? classes.updating : ''}>
          {traffic.data.totals.visits + traffic.data.totals.people === 0 ? (
            <div className="sheet">
              <Empty title={`Nobody came in the last ${range.label}`}>
                Counts appear here some seconds after a visit. See a first one now:
              </Empty>
              <FirstVisit domain={name} />
            </div>
          ) : (
            <>
              <TrafficTiles traffic={traffic.data} />
              <TrafficCharts traffic={traffic.data} range={range} />
              <TrafficPaths domain={name} range={range} />
            </>
          )}
          <TrafficRenders domain={name} />
        </Stack>
      )}
    </Stack>
  )
}
