import { Dialog } from '../parts/dialog.tsx'
import classes from './shell.module.css'

const KEYS: readonly {
  where: string
  keys: readonly (readonly [keys: readonly string[], does: string])[]
}[] = [
  {
    where: 'Everywhere',
    keys: [
      [['Ctrl K'], 'Search sites, pages, screens, settings and actions'],
      [['Ctrl Enter'], 'Send the form of a dialog, also from a text of several lines'],
      [['?'], 'Show this list'],
      [['Esc'], 'Close a dialog or menu'],
    ],
  },
  {
    where: 'Sites',
    keys: [
      [['/'], 'Search sites'],
      [['↑', '↓'], 'Go to the site before or after; at first, to the first one in sight'],
      [['Enter'], 'Open the site'],
      [['x'], 'Select the site'],
      [['Shift x'], 'Select all sites between'],
    ],
  },
  {
    where: 'Pages',
    keys: [
      [['↑', '↓'], 'Go to the page before or after'],
      [['Space'], 'Select the page'],
    ],
  },
  {
    where: 'Settings',
    keys: [[['Ctrl S'], 'Save the open page']],
  },
  {
    where: 'Charts',
    keys: [
      [['←', '→'], 'Read the step before or after'],
      [['Home', 'End'], 'Read the first or last step'],
    ],
  },
]

export default function KeysHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      {KEYS.map(({ where, keys }) => (
        <section key={where} aria-label={where} className={classes.keys}>
          <h3>{where}</h3>
          <dl>
            {keys.map(([pressed, does]) => (
              <div key={does}>
                <dt>
                  {pressed.map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  )
}
