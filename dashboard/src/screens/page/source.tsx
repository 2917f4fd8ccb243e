// biome-ignore-all lint/a11y/noNoninteractiveTabindex: boxes that scroll must be reachable by keyboard.
import { Button, Group, SegmentedControl } from '@mantine/core'
import { FORMS, type Form } from '@prepaint/contract/outcome/form.ts'
import { useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useMemo, useRef, useState } from 'react'

import { type PageAddress, sourceQuery, sourceUrl } from '../../api/queries.ts'
import { count } from '../../format.ts'
import { FORM_LABELS } from '../../page-forms.ts'
import { Note, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { NotCached } from './facts.tsx'
import classes from './inspection.module.css'
import type { ViewProps } from './inspection.tsx'
import { sourceLines } from './source-lines.ts'

/** The height of a line in CSS pixels, as in the style sheet. */
const LINE = 20
/** Lines drawn beyond the visible ones, so that scrolling shows no gap. */
const SPARE_LINES = 8

/** Shown as text, never parsed as a document. */
export function Source({ domain, page: { path, variant, stored, requests } }: ViewProps) {
  const [form, setForm] = useState<Form>('html')
  if (stored === null) return <NotCached />
  return (
    <>
      <SegmentedControl
        aria-label="Form of the page"
        data={FORMS.map((name) => ({
          value: name,
          label: `${FORM_LABELS[name]} (${count(requests[name])})`,
        }))}
        value={form}
        onChange={setForm}
      />
      <Note>In brackets: requests of crawlers and tools in the last 7 days.</Note>
      <CachedSource name={domain.custom_domain} page={{ path, variant, form }} etag={stored.etag} />
    </>
  )
}

function CachedSource(props: { name: string; page: PageAddress; etag: string }) {
  const { name, page, etag } = props
  const source = useQuery(sourceQuery(name, page, etag))
  return (
    <Loaded query={source} rows={6}>
      {(text) => (
        <Section
          title="Source"
          lead={`${count(text.length)} characters. Long lines are broken before a tag.`}
          actions={
            <Group gap="xs">
              <Button variant="default" size="xs" onClick={() => void navigator.clipboard?.writeText(text)}>
                Copy
              </Button>
              <Button
                component="a"
                variant="default"
                size="xs"
                href={sourceUrl(name, page)}
                target="_blank"
                rel="noopener"
              >
                Open as text
              </Button>
            </Group>
          }
        >
          <SourceLines text={text} />
          <Note>
            {page.form === 'html'
              ? 'As cached. Scripts are removed when the page is rendered.'
              : 'Made from the cached page.'}
          </Note>
        </Section>
      )}
    </Loaded>
  )
}

function SourceLines({ text }: { text: string }) {
  const lines = useMemo(() => sourceLines(text), [text])
  const box = useRef<HTMLElement>(null)
  const sight = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE,
    overscan: SPARE_LINES,
  })
  return (
    <section ref={box} className={classes.source} tabIndex={0} aria-label="Source of the page">
      <div className={classes.lines} style={{ height: sight.getTotalSize() }}>
        {sight.getVirtualItems().map(({ index, start }) => (
          <div key={index} className={classes.line} style={{ top: start }}>
            <span className={classes.number} aria-hidden>
              {lines[index]?.number ?? ''}
            </span>
            <code>{lines[index]?.text}</code>
          </div>
        ))}
      </div>
    </section>
  )
}
