import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import './styles.css';
import { App } from './app.js';
import { startTicking } from './state/clock.js';
import { startLive } from './state/live.js';
import { startTheme } from './state/theme.js';

startTheme();
startTicking();
startLive();
const root = document.getElementById('app');
if (root !== null) render(<App />, root);
