import { Group, Stack, Text, type TextProps, Title } from '@mantine/core'
import { Fragment, type ReactNode, useEffect } from 'react'
import { product } from './product-name.ts'

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · ${product.name}`
  }, [title])
}

/** A title, whose words go to the next line before they break: names have hyphens. */
export function Words({ text }: { text: string }) {
  return text.split(' ').map((word, at) => (
    <Fragment key={`${at} ${word}`}>
      {at > 0 && ' '}
      <span className="whole">{word}</span>
    </Fragment>
  ))
}

type Head = { title: string; lead?: ReactNode; actions?: ReactNode }

/**
 * A whole screen. `above` stands over its title. `isWide`: it is a table, as wide as the window. `documentTitle`: what
 * the window is called, if one title is over several screens.
 */
export function Page(
  props: Head & { above?: ReactNode; isWide?: boolean; documentTitle?: string; children: ReactNode },
) {
  useTitle(props.documentTitle ?? props.title)
  return (
    <Stack gap="lg" data-wide={props.isWide || undefined}>
      <Group justify="space-between" align="end" gap="sm">
        <Stack gap={4} miw="min(100%, 16rem)" flex={1}>
          {props.above}
          <Title order={1} className="break">
            <Words text={props.title} />
          </Title>
          <Lead>{props.lead}</Lead>
        </Stack>
        {props.actions}
      </Group>
      {props.children}
    </Stack>
  )
}

/** `id`: an address can lead to it. */
export function Section(props: Head & { id?: string; children: ReactNode }) {
  return (
    <section className="sheet" id={props.id} aria-label={props.title}>
      <Stack gap="md">
        <Group justify="space-between" align="start" gap="sm">
          <Stack gap={2} flex={1} miw={220}>
            <Title order={2}>{props.title}</Title>
            <Lead isSmall>{props.lead}</Lead>
          </Stack>
          {props.actions}
        </Group>
        {props.children}
      </Stack>
    </section>
  )
}

function Lead({ isSmall = false, children }: { isSmall?: boolean; children: ReactNode }) {
  if (children === undefined) return null
  return (
    <Text className="quiet" component="div" size={isSmall ? 'sm' : undefined}>
      {children}
    </Text>
  )
}

export type FactRow = readonly [name: string, value: ReactNode]

export function Facts({ rows }: { rows: readonly FactRow[] }) {
  return (
    <dl className="facts">
      {rows.map(([name, value], at) => (
        <div key={`${at} ${name}`}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

export function Note(props: TextProps & { children: ReactNode; role?: 'status' }) {
  const { className = '', ...rest } = props
  return <Text size="xs" component="div" {...rest} className={`quiet ${className}`} />
}
