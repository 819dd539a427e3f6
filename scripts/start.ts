/** `npm start`: a worked example on the embedded store. */
import '../examples/tour.ts';
