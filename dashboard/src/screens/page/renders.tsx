import { Group, Stack, Text } from '@mantine/core'

import { OutcomeBadge } from '../../parts/badges.tsx'
import { Section } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { count } from '../../parts/usage-bar.tsx'
import { RenderRecord } from '../domain/render-record.tsx'
import classes from './inspection.module.css'
import type { LensPart } from './inspection.tsx'

/** How each of its last renders went, why it was captured when it was, and why it was not kept. */
export function LensRenders({ lens: { renders } }: LensPart) {
  if (renders.length === 0) {
    return (
      <div className="sheet">
        <Empty title="It was not rendered in the last week">
          Records are kept for a week. A refresh renders it now.
        </Empty>
      </div>
    )
  }
  return (
    <Section title="Renders" lead="The last 20 of the last week, the newest first">
      <Stack gap={0}>
        {renders.map((render, at) => (
          <details key={`${render.jobId} ${render.ended_at}`} className={classes.render} open={at === 0}>
            <summary>
              <Group gap="xs" component="span" display="inline-flex">
                <OutcomeBadge outcome={render.outcome} />
                <Text size="sm" span>
                  <TimeText at={render.ended_at} />
                </Text>
                <Text size="sm" span className="quiet number">
                  {count(render.stored_ms)} ms
                </Text>
              </Group>
            </summary>
            <RenderRecord render={render} />
          </details>
        ))}
      </Stack>
    </Section>
  )
}
