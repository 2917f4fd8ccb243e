import { Alert, NativeSelect, Stack, Title } from '@mantine/core'
import { type ReactNode, useMemo, useState } from 'react'

import type { PageFacts } from '../../api/types.ts'
import { ago, bytes, count, exactTimeWithSeconds } from '../../format.ts'
import { Lines, type Names } from '../../parts/lines.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { type Difference, differences, type Stretch, textDifference } from './differences.ts'
import type { ViewProps } from './inspection.tsx'

export function History({ page: { history, stored } }: ViewProps) {
  const [newer, setNewer] = useState(0)
  const after = history[newer]
  const before = history[newer + 1]
  if (after === undefined) {
    return (
      <div className="sheet">
        <Empty title="No history yet">
          Changes of the content appear here once the page was cached twice. A purge deletes the history.
        </Empty>
      </div>
    )
  }
  if (before === undefined) {
    return (
      <div className="sheet">
        <Empty title="No change yet">
          {stored !== null && `Last rendered ${ago(stored.rendered_at)}, `}
          {stored === null ? 'Unchanged' : 'unchanged'} since the only known version was rendered{' '}
          {ago(after.rendered_at)}. The next different version is compared with it here.
        </Empty>
      </div>
    )
  }
  const cut = [before.facts, after.facts].find((facts) => keptChars(facts) < facts.textChars)
  return (
    <Section
      title="History"
      lead="The last 5 different versions within 30 days. At most the first 20,000 characters and 300 links of each are compared."
    >
      <Stack gap="md">
        <NativeSelect
          label="Version"
          className="form"
          value={String(newer)}
          onChange={(event) => setNewer(Number(event.currentTarget.value))}
          data={history.slice(0, -1).map(({ rendered_at: at, html_bytes: size }, place) => ({
            value: String(place),
            label: `${exactTimeWithSeconds(at)}, ${bytes(size)}`,
          }))}
        />
        <Note size="sm">
          Compared with the version of {exactTimeWithSeconds(before.rendered_at)}, {bytes(before.html_bytes)}.
          {cut !== undefined &&
            ` Only the first ${count(keptChars(cut))} of ${count(cut.textChars)} characters are known.`}
          {after.status !== before.status && ` The status changed from ${before.status} to ${after.status}.`}
        </Note>
        <DifferenceList before={before.facts} after={after.facts} names={['Before', 'After']} />
      </Stack>
    </Section>
  )
}

/** How much of the text a digest has. */
function keptChars({ text }: PageFacts): number {
  return text.reduce((chars, line) => chars + line.length, 0)
}

const SHOWN = 50

/** What differs between two versions of a page, and the names of what does not. */
export function DifferenceList(props: { before: PageFacts; after: PageFacts; names: Names }) {
  const { before, after, names } = props
  const { differ, same } = useMemo(() => differences(before, after), [before, after])
  const text = useMemo(() => textDifference(before.text, after.text), [before, after])
  const isTextSame = text?.every(({ kind }) => kind === 'same' || kind === 'skipped') === true
  const identical = isTextSame ? [...same, 'Text'] : same
  return (
    <Stack gap="md">
      {differ.map((difference) => (
        <Titled key={difference.name} title={difference.name}>
          <OneDifference difference={difference} names={names} />
        </Titled>
      ))}
      {text === null && (
        <Alert color="yellow" title="Text">
          The texts have almost no line in common: {count(before.textChars)} and {count(after.textChars)}{' '}
          characters.
        </Alert>
      )}
      {text !== null && !isTextSame && (
        <Titled title="Text">
          <Lines stretches={text} names={names} of="Text" />
        </Titled>
      )}
      <Note size="sm">Identical: {identical.join(', ') || 'nothing'}.</Note>
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
    const { before, after } = difference
    const stretches: Stretch[] = [
      { kind: 'removed', lines: [before ?? '(none)'], count: 1 },
      { kind: 'added', lines: [after ?? '(none)'], count: 1 },
    ]
    return <Lines stretches={stretches} names={names} of={difference.name} />
  }
  const { removed, added, same } = difference
  const stretches: Stretch[] = [
    { kind: 'removed', lines: removed.slice(0, SHOWN), count: removed.length },
    { kind: 'added', lines: added.slice(0, SHOWN), count: added.length },
  ]
  return (
    <>
      <Lines stretches={stretches} names={names} of={difference.name} />
      <Note mt={4}>
        Only {names[0].toLowerCase()}: {count(removed.length)} · only {names[1].toLowerCase()}:{' '}
        {count(added.length)} · both: {count(same)}
      </Note>
    </>
  )
}
