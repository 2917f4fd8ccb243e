// biome-ignore-all lint/a11y/noNoninteractiveTabindex: what scrolls must be scrolled by keyboard, too.
import { Alert, Badge, Stack, Text, Title } from '@mantine/core'
import { useMemo } from 'react'

import type { PageFacts } from '../../api/types.ts'
import { count, counted } from '../../parts/usage-bar.tsx'
import classes from './difference-list.module.css'
import { differences, type Stretch, textDifference } from './differences.ts'

/** Of a list that differs in thousands of entries. */
const SHOWN = 50

/** What two versions of a page differ in, first all that has a name, then the text. */
export function DifferenceList(props: {
  before: PageFacts
  after: PageFacts
  /** What the versions are called: `Crawlers`, `People`. */
  names: readonly [before: string, after: string]
}) {
  const { before, after, names } = props
  const { differ, same } = useMemo(() => differences(before, after), [before, after])
  const text = useMemo(() => textDifference(before.text, after.text), [before, after])
  const isTextSame = text?.every(({ kind }) => kind === 'same' || kind === 'skipped') === true
  return (
    <Stack gap="md">
      {differ.map((each) => (
        <div key={each.name}>
          <Title order={3} size="h6" mb={4}>
            {each.name}
          </Title>
          {each.kind === 'value' ? (
            <Lines
              stretches={[
                { kind: 'removed', lines: [each.before ?? '(none)'], count: 1 },
                { kind: 'added', lines: [each.after ?? '(none)'], count: 1 },
              ]}
              names={names}
            />
          ) : (
            <>
              <Lines
                stretches={[
                  { kind: 'removed', lines: each.removed.slice(0, SHOWN), count: each.removed.length },
                  { kind: 'added', lines: each.added.slice(0, SHOWN), count: each.added.length },
                ]}
                names={names}
              />
              <Text size="xs" className="quiet" mt={4}>
                Only {names[0].toLowerCase()}: {count(each.removed.length)} · only {names[1].toLowerCase()}:{' '}
                {count(each.added.length)} · both: {count(each.same)}
              </Text>
            </>
          )}
        </div>
      ))}
      {text === null ? (
        <Alert color="yellow" title="Text">
          The texts have hardly a line in common: {count(before.textChars)} and {count(after.textChars)}{' '}
          characters.
        </Alert>
      ) : (
        !isTextSame && (
          <div>
            <Title order={3} size="h6" mb={4}>
              Text
            </Title>
            <Lines stretches={text} names={names} />
          </div>
        )
      )}
      <Text size="sm" className="quiet">
        The same in both: {[...same, ...(isTextSame ? ['Text'] : [])].join(', ') || 'nothing'}.
      </Text>
    </Stack>
  )
}

/** In words as well as in colours: what stands where is also said. */
function Lines({ stretches, names }: { stretches: readonly Stretch[]; names: readonly [string, string] }) {
  return (
    <section className={classes.lines} tabIndex={0} aria-label={`${names[0]} and ${names[1]}`}>
      {stretches.map(({ kind, lines, count: all }, at) => {
        if (all === 0) return null
        if (kind === 'skipped') {
          return (
            <p key={`${at} skipped`} className={classes.skipped}>
              {counted(all, 'line')} as in both
            </p>
          )
        }
        return (
          <div key={`${at} ${kind}`} className={classes[kind]}>
            {kind !== 'same' && (
              <Badge size="xs" variant="light" color={kind === 'added' ? 'paint' : 'red'} tt="none">
                {kind === 'added' ? names[1] : names[0]}
              </Badge>
            )}
            {lines.map((line, row) => (
              // Lines come twice, and never move: their place is their name.
              <p key={row}>{line}</p>
            ))}
            {all > lines.length && <p className="quiet">and {count(all - lines.length)} more</p>}
          </div>
        )
      })}
    </section>
  )
}
