import { NativeSelect, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { Section } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { ago } from '../../parts/time-text.tsx'
import { size } from '../cache/page-words.ts'
import { DifferenceList } from './difference-list.tsx'
import type { LensPart } from './inspection.tsx'

const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** What the last different snapshots said, and what changed from one to the next. */
export function LensHistory({ lens: { history } }: LensPart) {
  const [newer, setNewer] = useState(0)
  const after = history[newer]
  const before = history[newer + 1]
  if (after === undefined || before === undefined) {
    return (
      <div className="sheet">
        <Empty title={history.length === 0 ? 'There is no history yet' : 'It has not changed since'}>
          {history.length === 0
            ? 'What a page says is noted when it is stored. A purge forgets it.'
            : `The only version that is known was rendered ${ago(history[0]?.rendered_at ?? '')}. The next that differs is compared with it here.`}
        </Empty>
      </div>
    )
  }
  return (
    <Section
      title="History"
      lead="The last 5 versions that differ, for 30 days: their texts to 20,000 characters, 300 links"
    >
      <Stack gap="md">
        <NativeSelect
          label="Change"
          className="form"
          value={String(newer)}
          onChange={(event) => setNewer(Number(event.currentTarget.value))}
          data={history.slice(0, -1).map((each, at) => ({
            value: String(at),
            label: `${EXACT.format(new Date(each.rendered_at))}, ${size(each.html_bytes)}`,
          }))}
        />
        <Text size="sm" className="quiet">
          Compared with the version of {EXACT.format(new Date(before.rendered_at))}, {size(before.html_bytes)}
          .{after.status !== before.status && ` The status was ${before.status}, and became ${after.status}.`}
        </Text>
        <DifferenceList before={before.facts} after={after.facts} names={['Before', 'After']} />
      </Stack>
    </Section>
  )
}
