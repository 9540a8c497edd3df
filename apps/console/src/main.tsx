import { render } from 'preact';

const root = document.getElementById('app');
if (root !== null) render(<h1>a2a-cluster</h1>, root);
