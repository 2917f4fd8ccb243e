import { Alert, NativeSelect, Stack, Title } from '@mantine/core'
import { type ReactNode, useMemo, useState } from 'react'

import type { PageFacts } from '../../api/types.ts'
import { bytes, count } from '../../format.ts'
import { Lines, type Names } from '../../parts/lines.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { ago } from '../../parts/time-text.tsx'
import { type Difference, differences, textDifference } from './differences.ts'
import type { ViewProps } from './inspection.tsx'

const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

export function History({ page: { history } }: ViewProps) {
  const [newer, setNewer] = useState(0)
  const after = history[newer]
  const before = history[newer + 1]
  if (after === undefined || before === undefined) {
    return (
      <div className="sheet">
        <Empty title={history.length === 0 ? 'No history yet' : 'No change yet'}>
          {history.length === 0
            ? 'Changes of the content appear here once the page was cached twice. A purge deletes the history.'
            : `The only known version was rendered ${ago(history[0]?.rendered_at ?? '')}. The next different version is compared with it here.`}
        </Empty>
      </div>
    )
  }
  return (
    <Section
      title="History"
      lead="The last 5 different versions within 30 days. The first 20,000 characters and 300 links of each are compared."
    >
      <Stack gap="md">
        <NativeSelect
          label="Version"
          className="form"
          value={String(newer)}
          onChange={(event) => setNewer(Number(event.currentTarget.value))}
          data={history.slice(0, -1).map((each, at) => ({
            value: String(at),
            label: `${EXACT.format(new Date(each.rendered_at))}, ${bytes(each.html_bytes)}`,
          }))}
        />
        <Note size="sm">
          Compared with the version of {EXACT.format(new Date(before.rendered_at))},{' '}
          {bytes(before.html_bytes)}.
          {after.status !== before.status && ` The status changed from ${before.status} to ${after.status}.`}
        </Note>
        <DifferenceList before={before.facts} after={after.facts} names={['Before', 'After']} />
      </Stack>
    </Section>
  )
}

const SHOWN = 50

export function DifferenceList(props: { before: PageFacts; after: PageFacts; names: Names }) {
  const { before, after, names } = props
  const { differ, same } = useMemo(() => differences(before, after), [before, after])
  const text = useMemo(() => textDifference(before.text, after.text), [before, after])
  const isTextSame = text?.every(({ kind }) => kind === 'same' || kind === 'skipped') === true
  return (
    <Stack gap="md">
      {differ.map((each) => (
        <Titled key={each.name} title={each.name}>
          <OneDifference difference={each} names={names} />
        </Titled>
      ))}
      {text === null ? (
        <Alert color="yellow" title="Text">
          The texts have almost no line in common: {count(before.textChars)} and {count(after.textChars)}{' '}
          characters.
        </Alert>
      ) : (
        !isTextSame && (
          <Titled title="Text">
            <Lines stretches={text} names={names} />
          </Titled>
        )
      )}
      <Note size="sm">Identical: {[...same, ...(isTextSame ? ['Text'] : [])].join(', ') || 'nothing'}.</Note>
    </Stack>
  )
}

function Titled({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div>
      <Title order={3} size="h6" mb={4}>
        {title}
      </Title>
      {children}
    </div>
  )
}

function OneDifference({ difference, names }: { difference: Difference; names: Names }) {
  if (difference.kind === 'value') {
    const value = (kind: 'removed' | 'added', text: string | null) => ({
      kind,
      lines: [text ?? '(none)'],
      count: 1,
    })
    return (
      <Lines
        stretches={[value('removed', difference.before), value('added', difference.after)]}
        names={names}
      />
    )
  }
  const { removed, added, same } = difference
  return (
    <>
      <Lines
        stretches={[
          { kind: 'removed', lines: removed.slice(0, SHOWN), count: removed.length },
          { kind: 'added', lines: added.slice(0, SHOWN), count: added.length },
        ]}
        names={names}
      />
      <Note mt={4}>
        Only {names[0].toLowerCase()}: {count(removed.length)} · only {names[1].toLowerCase()}:{' '}
        {count(added.length)} · both: {count(same)}
      </Note>
    </>
  )
}
