import { Group, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'

/** Names the document, for tabs, histories and screen readers. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Prepaint`
  }, [title])
}

/** The frame of a screen: its name, a line about it, what can be done, and the screen itself. */
export function Page(props: {
  title: string
  lead?: ReactNode
  actions?: ReactNode
  /** Above the title: the way back. */
  above?: ReactNode
  children: ReactNode
}) {
  useTitle(props.title)
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="end" gap="sm">
        <Stack gap={4} miw="min(100%, 16rem)" flex={1}>
          {props.above}
          <Title order={1} size="h2" className="break">
            {props.title}
          </Title>
          {props.lead !== undefined && (
            <Text className="quiet" component="div">
              {props.lead}
            </Text>
          )}
        </Stack>
        {props.actions}
      </Group>
      {props.children}
    </Stack>
  )
}

/** A part of a screen with a name of its own. */
export function Section(props: {
  title: string
  lead?: ReactNode
  actions?: ReactNode
  children: ReactNode
}) {
  return (
    <section className="sheet" aria-label={props.title}>
      <Stack gap="md">
        <Group justify="space-between" align="start" gap="sm">
          <Stack gap={2} flex={1} miw={220}>
            <Title order={2} size="h4">
              {props.title}
            </Title>
            {props.lead !== undefined && (
              <Text size="sm" className="quiet" component="div">
                {props.lead}
              </Text>
            )}
          </Stack>
          {props.actions}
        </Group>
        {props.children}
      </Stack>
    </section>
  )
}
