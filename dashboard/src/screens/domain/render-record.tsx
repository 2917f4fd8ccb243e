import { Stack, Text } from '@mantine/core'

import type { Render } from '../../api/types.ts'
import { count } from '../../parts/usage-bar.tsx'
import classes from './renders.module.css'

const CAPTURES: Record<string, string> = {
  'ready-signal': 'the page said that it was ready',
  budget: 'its timers had been run',
  idle: 'nothing more was under way',
  cap: 'its time was up',
}

/** What each stretch of a render was for, by the phase that ends it. */
const STRETCHES = [
  ['slot', 'Waited for a slot'],
  ['tab', 'Got a clean tab'],
  ['navigate', 'Asked for the page'],
  ['firstResponse', 'Its answer came'],
  ['settled', 'Scripts and requests'],
  ['snapshot', 'Snapshot'],
] as const satisfies readonly (readonly [keyof Render['record']['phases'], string])[]

/** Everything that is kept of one render, to explain its outcome. */
export function RenderRecord({ render }: { render: Render }) {
  const { record } = render
  const { requests, consoleErrors } = record
  return (
    <Stack gap="sm" py="xs">
      <dl className="facts">
        {render.detail !== null && (
          <>
            <dt>Why</dt>
            <dd>{render.detail}</dd>
          </>
        )}
        <dt>Captured</dt>
        <dd>{record.capture === null ? 'not' : `when ${CAPTURES[record.capture] ?? record.capture}`}</dd>
        <dt>Requests</dt>
        <dd>
          {count(requests.made)} made
          {requests.preloaded ? ` (${count(requests.preloaded)} sent ahead of the page)` : ''},{' '}
          {count(requests.spared)} pictures spared, {count(requests.blocked)} blocked,{' '}
          {count(requests.failed)} failed
        </dd>
        {record.htmlBytes !== null && (
          <>
            <dt>Size</dt>
            <dd>{count(record.htmlBytes)} bytes</dd>
          </>
        )}
      </dl>
      <Timeline render={render} />
      {record.troubles.length > 0 && (
        <div>
          <Text size="sm" fw={500}>
            Requests that were blocked or failed
          </Text>
          <pre className="code-block">
            {record.troubles.map(({ kind, url, reason }) => `${kind}: ${url} (${reason})`).join('\n')}
          </pre>
        </div>
      )}
      {consoleErrors.count > 0 && (
        <div>
          <Text size="sm" fw={500}>
            Errors on the console: {count(consoleErrors.count)}
          </Text>
          <pre className="code-block">{consoleErrors.texts.join('\n')}</pre>
        </div>
      )}
    </Stack>
  )
}

/** From the queue to the snapshot, one below the other, each as long as it took. */
function Timeline({ render }: { render: Render }) {
  const { phases } = render.record
  const stretches = [{ name: 'In the queue', start: 0, end: render.queued_ms }]
  let start = render.queued_ms
  for (const [phase, name] of STRETCHES) {
    const reached = phases[phase]
    if (reached === null) continue
    const end = Math.max(start, render.queued_ms + reached)
    stretches.push({ name, start, end })
    start = end
  }
  const whole = Math.max(1, start)
  return (
    <ol className={classes.timeline} aria-label="Phases of the render">
      {stretches.map(({ name, start: from, end }) => (
        <li key={name} className={classes.phase}>
          <span className={classes.name}>{name}</span>
          <span className={classes.track} aria-hidden>
            <span
              className={classes.bar}
              style={{ marginLeft: `${(from / whole) * 100}%`, width: `${((end - from) / whole) * 100}%` }}
            />
          </span>
          <span className={classes.ms}>{count(end - from)} ms</span>
        </li>
      ))}
    </ol>
  )
}
