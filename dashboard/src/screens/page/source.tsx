// biome-ignore-all lint/a11y/noNoninteractiveTabindex: what scrolls must be scrolled by keyboard, too.
import { Button, Group, Text } from '@mantine/core'
import { useElementSize, useMergedRef } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useRef, useState } from 'react'
import { sourceQuery, sourceUrl } from '../../api/queries.ts'
import { Section } from '../../parts/page.tsx'
import { Loading, Trouble } from '../../parts/states.tsx'
import { count } from '../../parts/usage-bar.tsx'
import { rowWindow } from '../../parts/windowed-rows.ts'
import { NotStored } from './facts.tsx'
import classes from './inspection.module.css'
import type { LensPart } from './inspection.tsx'
import { sourceLines } from './source-lines.ts'

/** CSS pixels; the style sheet has the same. */
const LINE = 20

/** The HTML as a crawler gets it: text, line by line, and never a document. */
export function LensSource({ domain, lens: { path, stored } }: LensPart) {
  return stored === null ? (
    <NotStored />
  ) : (
    <Source name={domain.custom_domain} path={path} etag={stored.etag} />
  )
}

function Source({ name, path, etag }: { name: string; path: string; etag: string }) {
  const source = useQuery(sourceQuery(name, path, etag))
  const lines = useMemo(() => sourceLines(source.data ?? ''), [source.data])
  const { ref: measured, height } = useElementSize<HTMLElement>()
  const box = useRef<HTMLElement>(null)
  const body = useMergedRef(measured, box)
  const [scrolled, setScrolled] = useState(0)
  const { start, end } = rowWindow({ rows: lines.length, rowHeight: LINE, scrolled, height: height || 600 })
  if (source.data === undefined) {
    return source.error === null ? (
      <Loading rows={6} />
    ) : (
      <Trouble error={source.error} onRetry={() => source.refetch()} />
    )
  }
  const text = source.data
  return (
    <Section
      title="Source"
      lead={`${count(text.length)} characters; long lines are broken before a tag`}
      actions={
        <Group gap="xs">
          <Button variant="default" size="xs" onClick={() => void navigator.clipboard?.writeText(text)}>
            Copy
          </Button>
          <Button
            component="a"
            variant="default"
            size="xs"
            href={sourceUrl(name, path)}
            target="_blank"
            rel="noopener"
          >
            Plain text
          </Button>
        </Group>
      }
    >
      <section
        ref={body}
        className={classes.source}
        tabIndex={0}
        aria-label="HTML of the page"
        onScroll={() => setScrolled(box.current?.scrollTop ?? 0)}
      >
        <div className={classes.lines} style={{ height: lines.length * LINE }}>
          {lines.slice(start, end).map(({ number, text: line }, offset) => (
            <div key={start + offset} className={classes.line} style={{ top: (start + offset) * LINE }}>
              <span className={classes.number} aria-hidden>
                {number ?? ''}
              </span>
              <code>{line}</code>
            </div>
          ))}
        </div>
      </section>
      <Text size="xs" className="quiet">
        As it is stored. Scripts were removed when it was rendered.
      </Text>
    </Section>
  )
}
